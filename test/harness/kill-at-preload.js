/**
 * Preloaded into a process with `node --require`. Kills the process, like `kill -9`, at one step of an append to a
 * file. The environment variable KILL_AT contains the file's name, the number of the append, and the step: `opened`
 * (nothing is written), `written` or `synced`. An example is `pushes.jsonl 1 synced`. If the variable is empty, the
 * process is not killed.
 */
const files = require("node:fs/promises");
const { basename } = require("node:path");

const [name, number, step] = (process.env.KILL_AT ?? "").split(" ");
const { open } = files;
let appends = 0;

files.open = async function openOrDie(path, flags, mode) {
  const file = await open(path, flags, mode);
  if (flags !== "a" || basename(path) !== name || ++appends !== Number(number)) return file;
  await dieAfter("opened");
  return {
    async writeFile(text) {
      await file.writeFile(text);
      await dieAfter("written");
    },
    async sync() {
      await file.sync();
      await dieAfter("synced");
    },
    close: () => file.close(),
  };
};

/** Kills the process if KILL_AT names this step. The promise then never resolves, so no further step begins. */
async function dieAfter(done) {
  if (step !== done) return;
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => undefined);
}
