#!lua
-- Write a cell that holds what is expected.
-- KEYS: cell
-- ARGV: expected, value, ttl in ms
-- ->    1 if written, else 0
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
