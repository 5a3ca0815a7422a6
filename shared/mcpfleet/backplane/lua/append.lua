#!lua
-- Append one entry to an open log, if the log ends where the writer expects, and ring its bell.
-- KEYS: entries, meta, marks
-- ARGV: data, keep, ttl in ms, sharded channel, mark, expect ('*' | 'empty' | 'OFFSET-MARK')
-- ->    {verdict, offset, mark}: ok | again (this very append has happened) | moved | gone
-- Where many write without expecting anything, others may come between an append and its repetition, so the marks of
-- all entries that are kept are known, and those of the last ones even if hardly any is. REMEMBERED of base.py:
local REMEMBERED = 64
local meta = redis.call('HMGET', KEYS[2], 'at', 'mark', 'largest')
local at, last, largest = meta[1], meta[2], meta[3]
local expect = ARGV[6]
if not at then return {'gone', 0, ''} end
if last == ARGV[5] and at ~= '0' then return {'again', tonumber(at), last} end
if expect == '*' then
  local before = redis.call('ZSCORE', KEYS[3], ARGV[5])
  if before then return {'again', tonumber(before), ARGV[5]} end
end
if expect == 'empty' and at ~= '0' or expect ~= 'empty' and expect ~= '*' and expect ~= at .. '-' .. last then
  return {'moved', tonumber(at), last}
end
local offset = redis.call('HINCRBY', KEYS[2], 'at', 1)
redis.call('HSET', KEYS[2], 'mark', ARGV[5], 'largest', math.max(tonumber(largest), #ARGV[1]))
if expect == '*' then
  redis.call('ZADD', KEYS[3], offset, ARGV[5])
  redis.call('ZREMRANGEBYSCORE', KEYS[3], 0, offset - math.max(tonumber(ARGV[2]), REMEMBERED))
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], offset .. '-0', 'd', ARGV[1], 'm', ARGV[5], 'p', last)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('SPUBLISH', ARGV[4], '')
return {'ok', offset, ARGV[5]}
