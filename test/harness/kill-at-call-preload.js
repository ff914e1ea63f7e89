/**
 * Preloaded into a process with `node --require`. Kills the process, like `kill -9`, at one of its calls of a Redis
 * function. The environment variable KILL_AT contains the number of the call, and `sent` or `answered`. With `sent`, the process
 * dies while Redis runs the function, so the answer is lost. If the variable is empty, the process is not killed.
 */
const { Socket } = require("node:net");

const [number, step] = (process.env.KILL_AT ?? "").split(" ");
const { write, emit } = Socket.prototype;
let calls = 0;
let isNext = false;

const die = () => process.kill(process.pid, "SIGKILL");

Socket.prototype.write = function writeOrDie(data, ...more) {
  calls += String(data).split("FCALL").length - 1;
  const isReached = !isNext && calls >= Number(number);
  const written = write.call(this, data, ...more);
  if (isReached && step === "sent") die();
  if (isReached) isNext = true;
  return written;
};

Socket.prototype.emit = function emitOrDie(event, ...more) {
  if (isNext && step === "answered" && event === "data") die();
  return emit.call(this, event, ...more);
};
