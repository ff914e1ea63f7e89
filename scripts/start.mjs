// `npm start`: builds the service, and runs it in this process. The build shows its progress, because it takes many
// seconds. Options that only print something skip the build, because a build would change the files of a running
// service.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";

const MAIN = new URL("../dist/deploy/local/main.js", import.meta.url);
const PRINTING = ["--help", "-h", "--version", "--commands"];
const STEP = "· building the service and the dashboard";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs the build script of the package in the current folder. Exits if the build fails or is stopped. */
async function build() {
  // The build's output is printed at the end, so that it does not break the progress line. The programs of the build
  // form their own process group, so that a signal stops all of them. The compiler ignores SIGTERM.
  const child = spawn("npm", ["run", "--silent", "build"], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  let stoppedBy;
  const stop = (signal) => {
    stoppedBy = signal;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const endProgress = showProgress();
  const [code] = await once(child, "close");
  endProgress();
  process.stderr.write(Buffer.concat(output));
  for (const signal of SIGNALS) process.off(signal, stop);
  if (stoppedBy !== undefined) process.exit(128 + constants.signals[stoppedBy]);
  if (code !== 0) process.exit(code ?? 1);
}

/**
 * Prints that the build is running. On a terminal, the line also shows the elapsed time. Returns the function that
 * removes this line.
 */
function showProgress() {
  if (!process.stdout.isTTY) {
    console.log(STEP);
    return () => undefined;
  }
  const since = performance.now();
  const show = () => {
    const seconds = Math.floor((performance.now() - since) / 1000);
    process.stdout.write(`\r\u001b[K${STEP}${seconds === 0 ? "" : ` … ${seconds} s`}`);
  };
  show();
  const timer = setInterval(show, 1000);
  return () => {
    clearInterval(timer);
    process.stdout.write("\r\u001b[K");
  };
}

const isBuilt = existsSync(MAIN);
if (!isBuilt || !process.argv.slice(2).some((word) => PRINTING.includes(word))) await build();
await import(MAIN.href);
