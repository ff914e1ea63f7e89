import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { installSynapse } from "../../bridges/matrix/test/harness/install-synapse";
import { findInspircd, findNgircd } from "./apt-program";
import { findChromium } from "./chromium";
import { findGo } from "./go";
import { preparePython } from "./python-venv";
import { prepareRedisServer } from "./redis-server";
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

/** Programs that some tests need: a pattern for the text of these tests, and a function that finds or installs it. */
const PROGRAMS: readonly (readonly [RegExp, (say: (line: string) => void) => Promise<unknown>])[] = [
  [/ngircd/i, findNgircd],
  [/inspircd/i, findInspircd],
  [/\bstartSynapse\(/, installSynapse],
  [/\bfindGo\(/, findGo],
  [/\bpython3 -m venv/, preparePython],
];

/**
 * Runs before all tests. Finds the Redis server of the tests, and installs Redis if it is missing. Installs Chromium if
 * it is missing and this run has browser tests, and other programs that the tests of this run need. The installations
 * run one after the other, because apt-get locks its files. Starts the shared services that the files of this run need.
 */
export default async function prepare(run: RunConfig, { roots }: ProjectConfig): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const wanted = run.testPathPatterns.toExecutor({ rootDir: run.rootDir });
  const files = roots
    .flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => join(root, file)),
    )
    .filter((file) => file.endsWith(".test.ts") && wanted.isMatch(file));
  await prepareRedisServer(say);
  if (files.some((file) => file.includes(`${sep}browser${sep}`))) await findChromium(say);
  const texts = files.map((file) => readFileSync(file, "utf8"));
  for (const [pattern, install] of PROGRAMS) if (texts.some((text) => pattern.test(text))) await install(say);
  const isShared = texts.some((text) => /\bshared(Service|Push)\(/.test(text));
  // Any worker may run a file that uses a shared service, so each worker gets one.
  const count = isShared ? Math.min(run.maxWorkers, files.length) : 0;
  globalThis.sharedServices = await startSharedServices(count);
}
