#!lua
-- Where the log ends, its life extended and never shortened; created if it is absent.
-- KEYS: entries, meta, marks
-- ARGV: ttl in ms, mark of the beginning if the log is new
-- ->    {offset, mark}
local meta = redis.call('HMGET', KEYS[2], 'at', 'mark')
if meta[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[1], 'GT')
  redis.call('PEXPIRE', KEYS[2], ARGV[1], 'GT')
  return {tonumber(meta[1]), meta[2]}
end
redis.call('DEL', KEYS[1], KEYS[3]) -- eviction may have left them without their meta
redis.call('HSET', KEYS[2], 'at', 0, 'mark', ARGV[2], 'largest', 0)
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return {0, ARGV[2]}
