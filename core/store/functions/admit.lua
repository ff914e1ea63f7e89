-- Check 2: the limit of the sending addresses.
-- ARGV: limit a second, then the addresses, one for each request.
-- Returns for each, in order: 0 when let through, else microseconds to wait.
register('admit', function(keys, args)
  local now = clock()
  local limit = tonumber(args[1])
  local answers = {}
  for i = 2, #args do
    answers[#answers + 1] = admit(keys[1] .. ':ip:' .. args[i], now, limit)
  end
  return answers
end)
