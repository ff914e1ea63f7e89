import { mkdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startNodeExporter } from "../harness/node-exporter";
import { freePort, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { keyOf } from "../harness/store";
import { post } from "../harness/bridge";
import { until } from "../harness/wait";
import type { Cause, Rig } from "./rig";

/** Adds a process to Prometheus's targets. Returns a function that removes the target and stops the process. */
function whileRunning(rig: Rig, name: string, running: TestProcess): () => Promise<unknown> {
  rig.watch(name, running);
  return () => {
    rig.unwatch(name);
    return running.stop();
  };
}

/**
 * Starts a snapshot of Redis. Redis rejects the command while another snapshot is in progress, e.g. for a backup, so
 * this function retries.
 */
async function snapshot({ command }: Rig): Promise<void> {
  await until("a snapshot begins", () =>
    command("BGSAVE").then(
      () => true,
      () => false,
    ),
  );
}

/** Node runs this program before the edge's program, so that the edge reports the version of another release. */
const OLDER_BUILD = `
const fs = require("node:fs");
const read = fs.readFileSync;
const older = JSON.stringify({ version: "0.9.0", commit: "0123456789ab" });
fs.readFileSync = (path, ...rest) => (String(path).endsWith("build.json") ? older : read(path, ...rest));
`;
/** Node runs this program before core's program, so that core's clock seems to be a minute ahead. */
const CLOCK_AHEAD = `const now = Date.now; Date.now = () => now() + 60_000;`;

/**
 * Permissions of a Redis user that cannot access the lists of members, so that a core with this user never acquires a
 * shard.
 */
const NO_MEMBERS = "on >secret ~cb:shards ~cb:format ~cb:{s?} ~cb:{s??} ~cb:{s*}:[^m]* &* +@all";

export const processCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeProcessDown"],
    what: "an edge is killed",
    async begin() {
      const edge = await startEdge(rig.service.core.port);
      const stop = whileRunning(rig, "killed", edge);
      await edge.stop("SIGKILL");
      return stop;
    },
  },
  {
    alerts: ["ChatBridgeEdgeWithoutCore"],
    what: "an edge has a wrong CORE_ADDRESS",
    begin: async () => whileRunning(rig, "lonely", await startEdge(await freePort(), {}, "listening")),
  },
  {
    alerts: ["ChatBridgeVersionsDiffer"],
    what: "an edge runs another release than the other processes",
    async begin() {
      const NODE_OPTIONS = `--require=${rig.write("older-build.cjs", OLDER_BUILD)}`;
      return whileRunning(rig, "older", await startEdge(rig.service.core.port, { NODE_OPTIONS }));
    },
  },
  {
    alerts: ["ChatBridgeClocksDiffer"],
    what: "the clock of a core's machine is a minute ahead",
    async begin() {
      const NODE_OPTIONS = `--require=${rig.write("clock-ahead.cjs", CLOCK_AHEAD)}`;
      return whileRunning(rig, "early", await rig.startCore({ NODE_OPTIONS }));
    },
  },
  {
    alerts: ["ChatBridgeCoreWithoutShards"],
    what: "the Redis user of a core lacks a permission",
    async begin() {
      await rig.command("ACL", "SETUSER", "limited", ...NO_MEMBERS.split(" "));
      const core = await rig.startCore({}, `redis://limited:secret@127.0.0.1:${rig.redisPort}`);
      return whileRunning(rig, "idle", core);
    },
  },
  {
    alerts: ["ChatBridgeFilesUnreadable"],
    what: "a line of core's token file becomes faulty",
    async begin() {
      const lines = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
      const CORE_TOKENS_FILE = rig.write("core-tokens", lines.join("\n"));
      const core = await rig.startCore({ CORE_TOKENS: "", CORE_TOKENS_FILE });
      rig.write("core-tokens", [...lines, "not a token"].join("\n"));
      return whileRunning(rig, "faulty-file", core);
    },
  },
  {
    alerts: ["ChatBridgeCertificateExpires"],
    what: "the certificate of a core expires in two days",
    async begin() {
      const { certPath, keyPath } = rig.ca.issue(["127.0.0.1"]);
      const environment = { CORE_TLS_CERT: certPath, CORE_TLS_KEY: keyPath };
      return whileRunning(rig, "expiring", await rig.startCore(environment));
    },
  },
  {
    alerts: ["ChatBridgeSecretsUnreadable"],
    what: "SECRETS_KEY lacks the key of the stored secrets",
    async begin() {
      const SECRETS_KEY = "ff".repeat(32);
      return whileRunning(rig, "keyless", await rig.startCore({ SECRETS_KEY }));
    },
  },
  {
    alerts: ["ChatBridgeDiskNearlyFull"],
    what: "a disk is 90 percent full",
    async begin() {
      const disk = join(rig.folder, "disk");
      mkdirSync(disk);
      const exporter = await startNodeExporter(disk);
      rig.watchNode(exporter.address);
      exporter.run(`head -c 943718 /dev/zero >"$DISK/data"`);
      closers.push(async () => {
        rig.unwatch(exporter.address);
        await exporter.close();
      });
      return async () => exporter.run(`rm "$DISK/data"`);
    },
  },
  {
    alerts: ["ChatBridgePersistenceFails"],
    what: "Redis cannot store its snapshot, because a folder has the name of the file",
    async begin() {
      const blocked = join(rig.service.redis.folder, "dump.rdb");
      rmSync(blocked, { force: true });
      mkdirSync(blocked);
      await snapshot(rig);
      return async () => {
        rmdirSync(blocked);
        await snapshot(rig);
      };
    },
  },
  {
    alerts: ["ChatBridgeBackupStale", "ChatBridgeBackupsFail"],
    what: "the last complete backup is 27 hours old, and the last backup failed",
    async begin() {
      const bin = join(rig.folder, "yesterday");
      mkdirSync(bin);
      rig.write("yesterday/date", `#!/bin/sh\nexec /bin/date -d "27 hours ago" "$@"\n`, 0o700);
      expect(await rig.backUp({ PATH: `${bin}:${process.env["PATH"]}` })).toBe(0);
      expect(await rig.backUp({ BACKUPS: join(rig.folder, "missing") })).toBe(1);
      return async () => expect(await rig.backUp()).toBe(0);
    },
  },
];

export const damagedData = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeUnexpectedErrors"],
    what: "Redis contains a value of the wrong type",
    async begin() {
      const workspace = await rig.service.workspaces.make();
      const key = keyOf(rig.store, workspace.id, "st");
      await rig.command("RENAME", key, `${key}:kept`);
      await rig.command("SET", key, "not a hash");
      const message = { type: "message", channel: "c1", user: { id: "u1" }, text: "hi" };
      await until("a request is answered with 500", async () => {
        return (await post(rig.service.url, workspace, message)).status === 500;
      });
      return () => rig.command("RENAME", `${key}:kept`, key);
    },
  },
];

const closers: (() => Promise<unknown>)[] = [];
/** Stops the node exporter, which keeps running after its fault was removed. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0)) await close();
}
