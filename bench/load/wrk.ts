import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { hasEnded, spawnGuarded, stopChild } from "../../deploy/local/guarded-child";
import { StartFault } from "../../deploy/local/start-fault";
import { check } from "../part";
import type { Measure } from "../rounds";
import type { Scope } from "../scope";
import type { RequestFile } from "./signed-requests";

const CONNECTIONS = 128;
const THREADS = Math.min(2, availableParallelism());
/**
 * Seconds for which `wrk.lua` repeats requests at the end of a run with "once", until the last new requests are
 * answered.
 */
const TAIL_SECONDS = 2;
const TIMEOUT_SECONDS = 10;
const STOP_WITHIN_MS = 2_000;
/** Path of the script in the sources, because the build does not copy Lua files to dist/. */
const SCRIPT = join(__dirname, "../../../bench/load/wrk.lua");

/** The result of a run of wrk, with the names that `wrk.lua` prints. */
export interface WrkResult {
  /** Start and end of the run without the repeats, and latencies of all answers. */
  readonly times: Omit<Measure, "count">;
  /** Number of answers, including answers to repeats, and their bytes with headers. */
  readonly requests: number;
  readonly bytes: number;
  /** With "once", the number of requests sent, not counting repeats. */
  readonly sent: number;
  /** Number of threads that ran out of requests. */
  readonly ranOut: number;
  /** Numbers of failures, by kind. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Throws StartFault when wrk is not installed. */
export function assertWrk(): void {
  if (spawnSync("wrk", ["-v"]).error === undefined) return;
  throw new StartFault("wrk is not installed: run apt-get install wrk, dnf install wrk or brew install wrk");
}

/**
 * Sends the requests of a file to a URL. Throws CheckFault when an answer is not
 * a 2xx.
 *
 * @param how `once` sends each request at most once, for `seconds`, and resolves
 *   when all sent requests are answered; `cycle` sends all requests repeatedly
 */
export async function runWrk(
  scope: Scope,
  url: string,
  { path, recordBytes, count }: RequestFile,
  how: "once" | "cycle",
  seconds: number,
): Promise<WrkResult> {
  const logFile = scope.logFile("wrk");
  const duration = Math.ceil(seconds) + (how === "once" ? TAIL_SECONDS : 0);
  const wrk = ["wrk", "-t", THREADS, "-c", CONNECTIONS, "-d", `${duration}s`];
  const more = ["--timeout", `${TIMEOUT_SECONDS}s`, "-s", SCRIPT, url];
  const script = [path, recordBytes, count, THREADS, seconds, how];
  const child = spawnGuarded([...wrk, ...more, "--", ...script].map(String), { logFile });
  await scope.own(child, (each) => stopChild(each, STOP_WITHIN_MS));
  if (!hasEnded(child)) await once(child, "exit");
  const printed = readFileSync(logFile, "utf8");
  const line = /^RESULT (.*)$/m.exec(printed)?.[1];
  check(line !== undefined, `wrk did not finish: ${printed.trim()}`);
  const result = JSON.parse(line ?? "") as WrkResult;
  const errors = Object.entries(result.errors).filter(([, number]) => number > 0);
  const said = errors.map(([name, number]) => `${number} ${name}`).join(", ");
  check(errors.length === 0, `wrk counted errors at ${url}: ${said}`);
  check(result.requests > 0, `wrk got no answer from ${url}`);
  return result;
}
