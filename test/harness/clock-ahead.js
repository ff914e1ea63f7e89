// Node preloads this file before the program under test. Each SIGUSR2 moves the clocks of the process forward by
// CLOCK_STEP_MS, logs the change, and runs the callbacks of all intervals of at most CLOCK_STEP_MS. Other timers are
// unchanged.
const stepMs = Number(process.env.CLOCK_STEP_MS);
const [dateNow, monotonicNow] = [Date.now, performance.now.bind(performance)];
const { setInterval: start, clearInterval: stop } = globalThis;
const intervals = new Map();
let aheadMs = 0;

Date.now = () => dateNow() + aheadMs;
performance.now = () => monotonicNow() + aheadMs;
globalThis.setInterval = (run, ms, ...args) => {
  const timer = start(run, ms, ...args);
  if (ms <= stepMs) intervals.set(timer, () => run(...args));
  return timer;
};
globalThis.clearInterval = (timer) => {
  intervals.delete(timer);
  stop(timer);
};
process.on("SIGUSR2", () => {
  aheadMs += stepMs;
  process.stdout.write(`${JSON.stringify({ msg: "the clocks are ahead", aheadMs })}\n`);
  for (const run of intervals.values()) run();
});
