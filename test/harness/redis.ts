import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPrivateRedis } from "../../deploy/local/private-redis";
import { redisServer } from "./redis-server";

/** A separate Redis server for one test file, on a socket in a temporary folder. */
export type TestRedis = Awaited<ReturnType<typeof startTestRedis>>;

/** @param setUp shell commands that run before the server starts; "$FOLDER" is the server's folder */
export async function startTestRedis(settings: readonly string[] = [], setUp = "") {
  const found = redisServer();
  const folder = mkdtempSync(join(tmpdir(), "cb-"));
  const script = join(folder, "redis.sh");
  const lines = ["#!/bin/sh", `FOLDER=${folder}`, setUp, `exec ${found} "$@"`];
  if (setUp !== "") writeFileSync(script, lines.join("\n"), { mode: 0o700 });
  const server = setUp === "" ? found : script;
  let redis = await startPrivateRedis({ server, folder, settings });

  /** Kills Redis, as a crash would. The append-only file stays. */
  async function kill(): Promise<void> {
    const { process: child } = redis;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  }

  return {
    url: redis.url,
    folder,
    get pid() {
      return redis.process.pid ?? 0;
    },
    kill,
    /** Kills Redis and restarts it, with its data or without data. */
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
