import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { findRedisServer } from "../../local/redis-server";
import { findChromium } from "./chromium";
import { startSharedServices, type SharedServices } from "./shared-services";

/** The parts of jest's configuration that `prepare` uses. */
interface RunConfig {
  readonly rootDir: string;
  readonly maxWorkers: number;
  readonly testPathPatterns: {
    toExecutor(options: { readonly rootDir: string }): { isMatch(path: string): boolean };
  };
}

interface ProjectConfig {
  readonly roots: readonly string[];
}

declare global {
  var sharedServices: SharedServices | undefined;
}

/**
 * Runs before all tests. Installs Redis if it is missing. Installs Chromium if it is missing and this run has
 * browser tests. Starts the shared services that the files of this run need.
 */
export default async function prepare(run: RunConfig, { roots }: ProjectConfig): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const wanted = run.testPathPatterns.toExecutor({ rootDir: run.rootDir });
  const files = roots
    .flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => join(root, file)),
    )
    .filter((file) => file.endsWith(".test.ts") && wanted.isMatch(file));
  await findRedisServer(say);
  if (files.some((file) => file.includes(`${sep}browser${sep}`))) await findChromium(say);
  const isShared = files.some((file) => /\bshared(Service|Push)\(/.test(readFileSync(file, "utf8")));
  // Any worker may run a file that uses a shared service, so each worker gets one.
  const count = isShared ? Math.min(run.maxWorkers, files.length) : 0;
  globalThis.sharedServices = await startSharedServices(count);
}
