// Loaded before a process under test: each SIGUSR2 sets its clocks ahead by
// CLOCK_STEP_MS, which it logs. Timers go on as they are.
const stepMs = Number(process.env.CLOCK_STEP_MS);
const [dateNow, monotonicNow] = [Date.now, performance.now.bind(performance)];
let aheadMs = 0;

Date.now = () => dateNow() + aheadMs;
performance.now = () => monotonicNow() + aheadMs;
process.on("SIGUSR2", () => {
  aheadMs += stepMs;
  process.stdout.write(`${JSON.stringify({ msg: "the clocks are ahead", aheadMs })}\n`);
});
