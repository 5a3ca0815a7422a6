#!lua flags=allow-oom
-- The members of an agenda that are due by Redis's clock, earliest first, each put off by a while.
-- Works on a full Redis, since it adds nothing.
-- KEYS: agenda
-- ARGV: by how many ms they are put off, how many at most
-- ->    {members, in how many ms another one is due, or -1}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[2])
local taken = {}
for _, member in ipairs(due) do
  taken[member] = true
  redis.call('ZADD', KEYS[1], now + ARGV[1], member)
end
local first = redis.call('ZRANGE', KEYS[1], 0, #due, 'WITHSCORES') -- one more than were taken
for i = 1, #first, 2 do
  if not taken[first[i]] then return {due, math.max(0, first[i + 1] - now)} end
end
return {due, -1}
