-- Performs check 2 of docs/checks.md, the rate limit per sending address (throttling,
-- 429), as a separate step. Redis counts the requests of all edges together. If all keys are on
-- one server, `append` and `page` perform this check for requests that pass checks 3 to 5 with
-- the cached record.
-- ARGV: maximum requests per second from one address, then the address of each request.
-- Returns for each request, in order: 0 when the request passes, otherwise the microseconds to wait.
register('admit', function(keys, args)
  local now, limit = clock(), tonumber(args[1])
  local answers = {}
  for i = 2, #args do
    answers[#answers + 1] = admit(keys[1] .. ':ip:' .. args[i], limit, now)
  end
  return answers
end, { 'allow-oom' })
