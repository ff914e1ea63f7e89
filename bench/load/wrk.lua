-- Generates load with wrk: sends signed requests from a file. All requests have the same length.
--
-- Arguments: file, bytes of a request, number of requests, threads, seconds, and "once" or "cycle". With "once", each
-- thread reads its own part of the file, and sends each request once, until the given seconds have passed or the part
-- ends. Then the thread repeats its last requests until wrk stops. The service answers repeats without storing them. So
-- when wrk stops, all requests except repeats have been answered. With "cycle", each thread sends its part repeatedly
-- until wrk stops. The parts have no workspace in common, so two threads never poll the same workspace at the same
-- time, just as a bridge sends one poll at a time.

local ffi = require("ffi")
ffi.cdef([[
  typedef struct { long seconds; long microseconds; } bench_time;
  int gettimeofday(bench_time *time, void *zone);
]])
local time = ffi.new("bench_time")
local LOOK_EVERY = 16
-- Number of requests that a thread repeats. Repeats come from 256 addresses and go to 256 workspaces,
-- so they stay below the rate limits.
local TAIL = 256

local threads = {}
local file, bytes, left, records, ends_at
local count, tail, repeats = 0, {}, 0

local function now()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.seconds) + tonumber(time.microseconds) / 1e6
end

function setup(thread)
  thread:set("number", #threads)
  threads[#threads + 1] = thread
end

function init(args)
  bytes = tonumber(args[2])
  left = math.floor(tonumber(args[3]) / tonumber(args[4]))
  file = assert(io.open(args[1], "rb"))
  file:setvbuf("full", 1048576)
  ends_at = tonumber(args[5])
  -- done() reads these variables. With "cycle", `took` stays nil.
  began, took, sent, ran_out = nil, nil, 0, 0
  -- Before the run, wrk calls request() once in the first thread. wrk only inspects that request,
  -- and does not send it.
  looked_at = number ~= 0
  file:seek("set", number * left * bytes)
  if args[6] ~= "once" then
    records = {}
    for i = 1, left do records[i] = file:read(bytes) end
  end
end

local function finish(at)
  sent, took = count, at - began
  file:close()
  file = nil
end

local function next_repeat()
  repeats = repeats + 1
  return tail[repeats % #tail + 1]
end

local function next_once()
  if file == nil then return next_repeat() end
  if count % LOOK_EVERY == 0 then
    local at = now()
    if at - began >= ends_at then
      finish(at)
      return next_repeat()
    end
  end
  if count == left then
    ran_out = 1
    finish(now())
    return next_repeat()
  end
  local record = file:read(bytes)
  tail[count % TAIL + 1] = record
  count = count + 1
  return record
end

function request()
  if not looked_at then
    looked_at = true
    if records ~= nil then return records[1] end
    local record = file:read(bytes)
    file:seek("set", 0)
    return record
  end
  began = began or now()
  if records == nil then return next_once() end
  count = count + 1
  return records[count % #records + 1]
end

function done(summary, latency)
  local sent, from, to, ran_out = 0, nil, 0, 0
  for _, thread in ipairs(threads) do
    local began, took = thread:get("began") or now(), thread:get("took")
    sent = sent + thread:get("sent")
    from = math.min(from or began, began)
    to = math.max(to, began + (took or summary.duration / 1e6))
    ran_out = ran_out + thread:get("ran_out")
  end
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"times":{"fromMs":%.0f,"toMs":%.0f,"p50Ms":%f,"p99Ms":%f},"requests":%d,"bytes":%.0f,"sent":%d,"ranOut":%d,' ..
    '"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    from * 1e3, to * 1e3, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.requests, summary.bytes,
    sent, ran_out, errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
