#!lua flags=allow-oom
-- Where an open log ends, its life extended and never shortened. Works on a full Redis, since it creates nothing.
-- KEYS: entries, meta
-- ARGV: ttl in ms
-- ->    {offset, mark}, or {-1, ''} if the log is absent
local meta = redis.call('HMGET', KEYS[2], 'at', 'mark')
if not meta[1] then return {-1, ''} end
redis.call('PEXPIRE', KEYS[1], ARGV[1], 'GT')
redis.call('PEXPIRE', KEYS[2], ARGV[1], 'GT')
return {tonumber(meta[1]), meta[2]}
