import { spawnSync } from "node:child_process";
import { statfs } from "node:fs/promises";
import { cpus, freemem, loadavg, release, tmpdir, totalmem, type } from "node:os";
import { findRedisServer } from "../deploy/local/redis-server";

const GB = 1024 ** 3;
/** Names of file systems, by their numbers in statfs(2). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x01021994: "tmpfs",
  0x58465342: "xfs",
  0x9123683e: "btrfs",
  0x794c7630: "overlayfs",
  0x2fc12fc1: "zfs",
};

/** Returns the properties of this machine that affect the figures. */
export async function describeMachine() {
  const redisServer = await findRedisServer((line) => process.stdout.write(`${line}\n`));
  const { type: fileSystem } = await statfs(tmpdir());
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGb: inGb(totalmem()),
    freeMemoryGb: inGb(freemem()),
    kernel: `${type()} ${release()}`,
    node: process.version,
    redis: firstLine(redisServer, "--version"),
    /** The folder that Redis writes to, and its file system. */
    disk: `${tmpdir()} on ${FILE_SYSTEMS[fileSystem] ?? `file system 0x${fileSystem.toString(16)}`}`,
    /** Load average of the minute before the run. */
    loadAverage: loadavg()[0] ?? 0,
  };
}

/** Returns the lines that describe the machine, with warnings. */
export function machineLines(machine: Awaited<ReturnType<typeof describeMachine>>): readonly string[] {
  const { cpu, cores, memoryGb, freeMemoryGb, kernel, node, redis, disk, loadAverage } = machine;
  const lines = [
    `${cpu}, ${cores} cores, ${memoryGb} GB of memory (${freeMemoryGb} free)`,
    `${kernel}, Node ${node}, ${redis}`,
    `Redis writes to ${disk}`,
  ];
  if (/tmpfs/.test(disk))
    lines.push(
      "NOTE: this folder is in memory, where a durable write costs nothing; set TMPDIR to a folder on a disk",
    );
  if (loadAverage > cores / 4) {
    lines.push(`NOTE: the load average is ${loadAverage.toFixed(1)}: other programs may be running`);
  }
  return lines;
}

function inGb(bytes: number): number {
  return Math.round((bytes / GB) * 10) / 10;
}

/** Returns the first line that a command prints, even if the command fails; "" when the command is not installed. */
function firstLine(command: string, argument: string): string {
  const { stdout, stderr } = spawnSync(command, [argument], { encoding: "utf8" });
  return `${stdout ?? ""}${stderr ?? ""}`.split("\n")[0]?.trim() ?? "";
}
