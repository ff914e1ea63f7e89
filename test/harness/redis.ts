import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRedisServer } from "../../local/redis-server";
import { startPrivateRedis } from "../../local/private-redis";

/** A Redis of one test file's own, on a socket in a temporary folder. */
export type TestRedis = Awaited<ReturnType<typeof startTestRedis>>;

export async function startTestRedis(settings: readonly string[] = []) {
  const server = await findRedisServer((line) => process.stderr.write(`${line}\n`));
  const folder = mkdtempSync(join(tmpdir(), "cb-"));
  let redis = await startPrivateRedis({ server, folder, settings });

  /** Ends it at once, as a crash would; its file stays. */
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
    /** Starts it again over the same file, or empty. */
    async restart({ empty }: { readonly empty: boolean } = { empty: false }) {
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
