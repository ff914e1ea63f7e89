-- The limiters (rate limits, 429) of addresses and workspaces. The algorithm is a sliding window log. All edges share one
-- count, because every request is checked here.
--
-- A limiter contains the times of the requests that passed, oldest first. It keeps at least the last `limit` times that
-- are less than a second old. A request passes when fewer than `limit` times are less than a second old. So at most
-- `limit` requests pass in any window of one second. Rejected requests do not count.
--
-- The library keeps the limiters in its own memory. When the limiters were lists in Redis, an empty poll took Redis 18
-- µs instead of 12 µs. The limiters are empty after a restart or a failover of Redis. Each library has its own
-- limiters, so during an upgrade the two releases count separately.
--
-- A limiter is in `current` if a request has used it since `began`, or in `previous` if a request used it in the period
-- before. Limiters that no request used in these two periods are forgotten. A period is twice as long as the window. So
-- if the clock steps back by up to a second, a limiter is kept until the clock has caught up with its newest time.
local admit

do

local PERIOD_US = 2 * MICROSECONDS
-- Maximum number of limiters in `current`. This many limiters, each with few times, take about 100 MB. Only requests
-- from 100,000 new addresses per second can reach this maximum.
local LIMITERS_MAX = 200000
local current, previous, began, limiters_count = {}, {}, 0, 0

-- Returns the limiter of a key. The limiter's `count` is the number of times in it.
local function limiter_of(key, now)
  if math.abs(now - began) >= PERIOD_US or limiters_count >= LIMITERS_MAX then
    current, previous, began, limiters_count = {}, current, now, 0
  end
  local limiter = current[key]
  if limiter then return limiter end
  limiter = { count = 0 }
  local older = previous[key]
  if older then
    local count = 0
    for i = 1, older.count do
      if older[i] > now - MICROSECONDS then
        count = count + 1
        limiter[count] = older[i]
      end
    end
    limiter.count = count
  end
  current[key], limiters_count = limiter, limiters_count + 1
  return limiter
end

-- Returns 0 when a request passes, otherwise the microseconds to wait.
function admit(key, limit, now)
  local limiter = limiter_of(key, now)
  local count, at = limiter.count, now
  local newest = limiter[count]
  if newest and newest > now then
    if newest > now + MICROSECONDS then
      -- If the clock has stepped back by more than a second, the limiter is emptied. Otherwise, a full limiter could
      -- reject every request until the clock has caught up.
      for i = 1, count do limiter[i] = nil end
      count = 0
    else
      -- If the clock has stepped back by less, the newest time serves as the current time until the clock has caught
      -- up.
      at = newest
    end
  end
  local oldest = limiter[count + 1 - limit]
  local wait = oldest and oldest + MICROSECONDS - at or 0
  if wait > 0 then return wait end
  limiter.count, limiter[count + 1] = count + 1, at
  return 0
end

end
