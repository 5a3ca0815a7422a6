#!lua
-- Append one entry to an open log, if the log ends where the writer expects, and ring its bell.
-- KEYS: entries, meta
-- ARGV: data, keep, ttl in ms, sharded channel, mark, expect ('*' | 'empty' | 'OFFSET-MARK')
-- ->    {verdict, offset, mark}: ok | again (this very append has happened) | moved | gone
-- Where many write without expecting anything, others may come between an append and its repetition, so the positions
-- of the last ones are kept. REMEMBERED of base.py:
local REMEMBERED = 64
local meta = redis.call('HMGET', KEYS[2], 'at', 'mark', 'largest', 'recent')
local at, last, largest, recent = meta[1], meta[2], meta[3], meta[4] or ''
local expect = ARGV[6]
if not at then return {'gone', 0, ''} end
if last == ARGV[5] and at ~= '0' then return {'again', tonumber(at), last} end
if expect == '*' then
  local before = string.match(recent, '(%d+)%-' .. ARGV[5] .. ';')
  if before then return {'again', tonumber(before), ARGV[5]} end
end
if expect == 'empty' and at ~= '0' or expect ~= 'empty' and expect ~= '*' and expect ~= at .. '-' .. last then
  return {'moved', tonumber(at), last}
end
local offset = redis.call('HINCRBY', KEYS[2], 'at', 1)
redis.call('HSET', KEYS[2], 'mark', ARGV[5], 'largest', math.max(tonumber(largest), #ARGV[1]))
if expect == '*' then
  local _, remembered = string.gsub(recent, ';', '')
  if remembered >= REMEMBERED then recent = string.sub(recent, string.find(recent, ';', 1, true) + 1) end
  redis.call('HSET', KEYS[2], 'recent', recent .. offset .. '-' .. ARGV[5] .. ';')
end
redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], offset .. '-0', 'd', ARGV[1], 'm', ARGV[5], 'p', last)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('SPUBLISH', ARGV[4], '')
return {'ok', offset, ARGV[5]}
