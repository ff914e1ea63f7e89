import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRedisServer } from "../../local/redis-server";
import { startPrivateRedis, type PrivateRedis } from "../../local/private-redis";

/** A Redis of one test file's own, on a socket in a temporary folder. */
export interface TestRedis {
  readonly url: string;
  readonly pid: number;
  /** Ends it at once, as a crash would; its file stays. */
  kill(): Promise<void>;
  /** Starts it again over the same file, or empty. */
  restart(how?: { readonly empty: boolean }): Promise<void>;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

export async function startTestRedis(settings: readonly string[] = []): Promise<TestRedis> {
  const server = await findRedisServer((line) => process.stderr.write(`${line}\n`));
  const folder = mkdtempSync(join(tmpdir(), "cb-"));
  let redis: PrivateRedis = await startPrivateRedis({ server, folder, settings });

  async function kill(): Promise<void> {
    const { process: child } = redis;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  }

  return {
    url: redis.url,
    get pid() {
      return redis.pid;
    },
    kill,
    async restart({ empty } = { empty: false }) {
      await kill();
      if (empty) rmSync(join(folder, "appendonlydir"), { recursive: true, force: true });
      redis = await startPrivateRedis({ server, folder, settings });
    },
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
