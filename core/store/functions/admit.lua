-- Check 2 as a separate step: the limit of sending addresses. Most requests are checked
-- by the function that stores or reads for them.
-- ARGV: limit per second, then one address for each request.
-- Returns for each request, in order: 0 when it passes, else microseconds to wait.
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
