import { readdirSync } from "node:fs";
import { join } from "node:path";
import { findRedisServer } from "../../local/redis-server";
import { findChromium } from "./chromium";

/** What of jest's configuration says which files run. */
interface RunConfig {
  readonly rootDir: string;
  readonly testPathPatterns: {
    toExecutor(options: { readonly rootDir: string }): { isMatch(path: string): boolean };
  };
}

const BROWSER_TESTS = join(__dirname, "../browser");

/** Before any test: a machine without Redis or, for browser tests, Chromium gets one once, not once for each file that runs at the time. */
export default async function prepare({ rootDir, testPathPatterns }: RunConfig): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  await findRedisServer(say);
  const wanted = testPathPatterns.toExecutor({ rootDir });
  if (readdirSync(BROWSER_TESTS).some((file) => wanted.isMatch(join(BROWSER_TESTS, file)))) {
    await findChromium(say);
  }
}
