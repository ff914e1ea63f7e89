import { spawn } from "node:child_process";
import { once } from "node:events";
import { findNodeExporter } from "../programs/apt";
import { freePort } from "./processes";
import { until } from "./wait";

/**
 * Starts a node exporter that reports only one small disk, a file system of 1 MB in memory. The disk exists only in the
 * exporter's mount namespace, so `run` runs its shell command in this namespace.
 */
export async function startNodeExporter(folder: string) {
  const port = await freePort();
  const args = [
    "--collector.disable-defaults",
    "--collector.filesystem",
    // The exporter reports only the disk of the test, because the disks of this machine may be full.
    "--collector.filesystem.fs-types-exclude=^[^t]",
    "--collector.filesystem.mount-points-exclude=^/(dev|mnt|proc|run|sys)",
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const script = [
    `mount -t tmpfs -o size=1m disk "$DISK"`,
    `"$0" "$@" & exporter=$!`,
    `while read -r line; do eval "$line"; done`,
    `kill "$exporter"`,
  ].join("\n");
  const env = { ...process.env, DISK: folder };
  const spaces = ["--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
  const command = [...spaces, "sh", "-c", script, await findNodeExporter(), ...args];
  const child = spawn("unshare", command, { env, stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = once(child, "close");
  await until("the node exporter answers", async () => {
    if (child.exitCode !== null) throw new Error(`the node exporter stopped: ${errors}`);
    return fetch(`http://127.0.0.1:${port}/metrics`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    /** Runs a shell command in which `$DISK` is the folder of the disk. */
    run: (line: string): void => void child.stdin.write(`${line}\n`),
    async close(): Promise<void> {
      child.stdin.end();
      await exited;
    },
  };
}
