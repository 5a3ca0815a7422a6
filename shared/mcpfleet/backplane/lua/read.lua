#!lua flags=allow-oom
-- What follows an offset, up to a number of entries and a number of bytes.
-- No 'no-writes' flag, on purpose: a replica and a master cut off from its replicas then refuse to answer.
-- KEYS: entries, meta
-- ARGV: offset to read after, limit, byte budget, ttl in ms ('' leaves the life alone)
-- ->    {offset, mark, rows}: the end of the log, and XRANGE's rows; or {-1, '', {}} if the log is absent
local meta = redis.call('HMGET', KEYS[2], 'at', 'mark', 'largest')
if not meta[1] then return {-1, '', {}} end
local limit, budget, ttl = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if ttl and redis.call('PTTL', KEYS[2]) < ttl / 2 then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
local rows, from = {}, '(' .. ARGV[1] .. '-0'
local largest = math.max(1, tonumber(meta[3])) -- so no XRANGE copies more than what is left of the budget, or one entry
while #rows < limit and budget > 0 do
  local count = math.min(limit - #rows, math.max(1, math.floor(budget / largest)))
  local found = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', count)
  for _, row in ipairs(found) do
    rows[#rows + 1] = row
    budget = budget - #row[2][2]
  end
  if #found < count then break end
  from = '(' .. found[count][1]
end
return {tonumber(meta[1]), meta[2], rows}
