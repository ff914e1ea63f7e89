-- Check 2 by itself: the limit of the sending addresses. Most requests are checked by
-- the function that stores or reads for them.
-- ARGV: limit a second, then the addresses, one for each request.
-- Returns for each, in order: 0 when let through, else microseconds to wait.
register('admit', function(keys, args)
  local limiters = new_limiters(clock())
  local limit = tonumber(args[1])
  local answers = {}
  for i = 2, #args do
    answers[#answers + 1] = limiters.admit(keys[1] .. ':ip:' .. args[i], limit)
  end
  limiters.write()
  return answers
end)
