#!lua flags=allow-oom
-- Extend the life of a cell that holds what is expected. Works on a full Redis, so leases outlive it.
-- KEYS: cell
-- ARGV: expected, ttl in ms
-- ->    1 if it holds that, else 0
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
