#!lua flags=allow-oom
-- How many members of a pool hold a place, and how many of an agenda are due, by Redis's clock.
-- KEYS: pool, agenda
-- ->    {held, due}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return {redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf'), redis.call('ZCOUNT', KEYS[2], '-inf', now)}
