#!lua flags=allow-oom
-- Hold one of `cap` places for a member, by Redis's clock. The same member again is renewed, never counted twice.
-- Works on a full Redis, so that who is in stays in; a place is a few bytes, and the cap bounds them.
-- KEYS: pool
-- ARGV: member, ttl in ms, cap
-- ->    0 if held, else in how many ms a place may be free
local time = redis.call('TIME')
local now, ttl = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  return first and math.max(1, first - now) or ttl
end
redis.call('ZADD', KEYS[1], now + ttl, ARGV[1])
if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
