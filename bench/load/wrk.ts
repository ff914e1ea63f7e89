import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { hasEnded, spawnGuarded, stopChild } from "../../local/guarded-child";
import { UsageFault } from "../options";
import { check } from "../part";
import type { Scope } from "../scope";
import type { RequestFile } from "./request-file";

export const CONNECTIONS = 128;
const THREADS = Math.min(2, availableParallelism());
/** What is under way at the end of a run has its answer by then. */
const TAIL_SECONDS = 2;
const TIMEOUT_SECONDS = 10;
const STOP_WITHIN_MS = 2_000;
/** Lua is not compiled: it stays beside the sources. */
const SCRIPT = join(__dirname, "../../../bench/load/wrk.lua");

/** What a run of wrk came to; the names are those of the script's. */
export interface WrkResult {
  /** Answers in all, and their bytes with their headers. */
  readonly requests: number;
  readonly bytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Requests that were sent once. */
  readonly sent: number;
  /** Between when they were sent, or all when they were sent round and round; by Date.now(). */
  readonly fromMs: number;
  readonly toMs: number;
  /** More than 0 when there were too few requests in the file. */
  readonly ranOut: number;
}

type Errors = Readonly<Record<"connect" | "read" | "write" | "status" | "timeout", number>>;

/** Throws a line that says what to install when wrk is not here. */
export function assertWrk(): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("wrk", ["-v"], (error) => {
      // Asked for its version it fails, having told it.
      if (error?.code !== "ENOENT") return resolve();
      reject(
        new UsageFault(
          "wrk makes the load and is not here. Install it: apt-get install wrk, dnf install wrk or brew install wrk.",
        ),
      );
    });
  });
}

/**
 * Loads a URL with the requests of a file, and throws when any of them is not
 * answered by a 2xx.
 *
 * @param how once: each request is sent once, for so many seconds, and all of them
 *   are answered when this resolves; cycle: they are sent round and round
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
  await scope.own(Promise.resolve(child), (each) => stopChild(each, STOP_WITHIN_MS));
  if (!hasEnded(child)) await once(child, "exit");
  const printed = readFileSync(logFile, "utf8");
  const line = /^RESULT (.*)$/m.exec(printed)?.[1];
  check(line !== undefined, `wrk did not finish: ${printed.trim()}`);
  const { connect, read, write, status, timeout, ...result } = JSON.parse(line ?? "") as WrkResult & Errors;
  const errors: Errors = { connect, read, write, status, timeout };
  const bad = Object.entries(errors).filter(([, number]) => number > 0);
  const said = bad.map(([name, number]) => `${number} ${name}`).join(", ");
  check(bad.length === 0, `wrk saw errors at ${url}: ${said}`);
  check(result.requests > 0, `wrk had no answer at all from ${url}`);
  return result;
}
