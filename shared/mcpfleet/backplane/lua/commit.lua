#!lua
-- Make all writes in one step if every cell holds what is expected of it, and then ring bells.
-- Sent with `flags=allow-oom` where it creates no cell, so that what is there goes on while Redis is full.
-- KEYS: the cells that something is expected of, the key of each write, ...
-- ARGV: how many are expected, how many bells there are, ...
--       for each of those cells '' if it must be absent, else '=' and what it must hold; the bells' sharded channels;
--       for each write 'put', value, ttl in ms | 'remove' | 'plan', member, delay in ms, ttl in ms | 'unplan', member
-- ->    1 if written, else 0
local expected, bells, at = tonumber(ARGV[1]), tonumber(ARGV[2]), 2
for cell = 1, expected do
  local held = redis.call('GET', KEYS[cell])
  if (held and '=' .. held or '') ~= ARGV[at + cell] then return 0 end
end
at = at + expected + bells
local function argument()
  at = at + 1
  return ARGV[at]
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for write = expected + 1, #KEYS do
  local key, kind = KEYS[write], argument()
  if kind == 'put' then
    local value = argument()
    redis.call('SET', key, value, 'PX', argument())
  elseif kind == 'remove' then
    redis.call('DEL', key)
  elseif kind == 'plan' then
    local member, due, ttl = argument(), now + argument(), argument()
    redis.call('ZADD', key, due, member)
    if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end
  else
    redis.call('ZREM', key, argument())
  end
end
for bell = 1, bells do redis.call('SPUBLISH', ARGV[2 + expected + bell], '') end
return 1
