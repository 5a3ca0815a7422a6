#!lua flags=allow-oom
-- Remove the cell and the log of one name, if the cell holds what is expected; a removed log's bell rings.
-- KEYS: cell, entries, meta, marks
-- ARGV: sharded channel, and optionally what the cell must hold
-- ->    how many keys were removed
if ARGV[2] and redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
local log = redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
if log > 0 then redis.call('SPUBLISH', ARGV[1], '') end
return log + redis.call('DEL', KEYS[1])
