import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { poll, post } from "../harness/bridge";
import { ROOT } from "../harness/compose-file";
import { startConsumer } from "../harness/consumer";
import { startMailServer } from "../harness/mail-server";
import { freePort, startCore, type RunningProcess } from "../harness/processes";
import { fasterRules, ALERT_RULES, startPrometheus } from "../harness/prometheus";
import { pushEnvironment, startPushService } from "../harness/push";
import { openTestStore } from "../harness/store";
import { until } from "../harness/wait";

/** A fault, and the alerts that it must fire. */
export interface Cause {
  readonly alerts: readonly string[];
  /** What happens. */
  readonly what: string;
  /** Whether a busy machine can also cause the fault, so that the alerts may still fire after the fault was removed. */
  readonly isLoadToo?: boolean;
  /** Causes the fault. Returns a function that removes the fault. */
  begin(): Promise<() => Promise<unknown>>;
}

/** A running service with traffic, and a Prometheus that scrapes the service's metrics. */
export type Rig = Awaited<ReturnType<typeof startRig>>;

const SCRIPT = join(ROOT, "deploy/backup/backup.sh");
/** The message that a member sends every tenth of a second. */
const MESSAGE = { type: "message", channel: "c1", user: { id: "u1", name: "Ada" }, text: "hello" };
const EVERY_MS = 100;
const OPERATOR = "operator@ops.example";

export async function startRig(folder: string) {
  const mail = await startMailServer();
  const environment = {
    CORE_LISTEN: `127.0.0.1:${await freePort()}`,
    SMTP_URL: mail.url,
    MAIL_FROM: "bridges@service.example",
    OPERATOR_EVENTS_MAIL: OPERATOR,
    INBOUND_LOG_MAX: "1000",
  };
  const push = await startPushService(() => environment);
  const { service } = push;
  const store = await openTestStore(service.redis.url);
  const command = (...args: readonly string[]) => store.redis.command("", args);
  // Backups, and the core that uses a Redis user with fewer permissions, connect to Redis over TCP.
  const redisPort = await freePort();
  await command("CONFIG", "SET", "repl-diskless-sync-delay", "0");
  await command("CONFIG", "SET", "port", String(redisPort));
  // Redis must not wait for the disk, because other tests can slow the disk down.
  await command("CONFIG", "SET", "appendfsync", "no");

  const prometheus = await startPrometheus(folder, fasterRules(ALERT_RULES));
  const targets = new Map<string, string>();
  const nodes = new Set<string>();
  function publishTargets(): void {
    prometheus.setTargets({ "chat-bridge": [...targets.values()], "chat-bridge-node": [...nodes] });
  }
  const watch = (name: string, { healthPort }: Pick<RunningProcess, "healthPort">): void => {
    targets.set(name, `127.0.0.1:${healthPort}`);
    publishTargets();
  };
  let core = service.core;
  watch("core", core);
  watch("edge", service.edge);

  const steady = await service.workspaces.make({ name: "Steady" });
  const traffic = startTraffic(() => service.url, steady);
  const play = () => {
    const consumer = startConsumer(service.clients.games, { group: "steady" });
    consumer.ackAll();
    return consumer;
  };
  let game = play();

  return {
    ...push,
    folder,
    mail,
    store,
    command,
    redisPort,
    prometheus,
    traffic,
    watch,
    /** The core to which the edge is connected. */
    get core() {
      return core;
    },
    /** Starts another core, which can push to the bridges of the test. */
    startCore: (settings: Readonly<Record<string, string>>, redisUrl = service.redis.url) =>
      startCore(redisUrl, { ...pushEnvironment(push.ca, push.names.server), ...settings }),
    /** Stops the core, and starts it again with the same settings. */
    async restartCore(): Promise<void> {
      await core.stop();
      core = await startCore(service.redis.url, {
        ...pushEnvironment(push.ca, push.names.server),
        ...environment,
      });
      watch("core", core);
      // Like a game, opens streams until one stays open, because the client may not have reconnected to core yet.
      await until("the game follows again", async () => {
        game.cancel();
        game = play();
        const is = await until("the stream is open or has ended", () =>
          game.end !== undefined ? "ended" : game.shards > 0 && "open",
        );
        return is === "open";
      });
    },
    /** Adds a node exporter to Prometheus's targets. */
    watchNode(address: string): void {
      nodes.add(address);
      publishTargets();
    },
    unwatch(...names: readonly string[]): void {
      for (const name of names) {
        targets.delete(name);
        nodes.delete(name);
      }
      publishTargets();
    },
    /** Runs `backup.sh redis now` with additional environment variables. Returns the exit code. */
    async backUp(environment: Readonly<Record<string, string>> = {}): Promise<number> {
      const BACKUPS = join(folder, "backups");
      mkdirSync(BACKUPS, { recursive: true });
      const PATH = process.env["PATH"] ?? "";
      const env = { PATH, BACKUPS, REDIS_ADDRESS: `127.0.0.1:${redisPort}`, ...environment };
      const child = spawn("sh", [SCRIPT, "redis", "now"], { env, stdio: "ignore" });
      return ((await once(child, "close")) as [number])[0];
    },
    /** Writes a file into the folder, and returns its path. */
    write(name: string, text: string, mode = 0o600): string {
      const path = join(folder, name);
      writeFileSync(path, text, { mode });
      return path;
    },
    async close() {
      await traffic.stop();
      game.cancel();
      await prometheus.close();
      await store.close();
      await core.stop();
      await push.close();
      await mail.close();
    },
  };
}

/** Posts an event and polls, ten times a second. Unlike real bridges, this traffic does not retry failed requests. */
function startTraffic(url: () => string, workspace: { readonly id: string; readonly secret: string }) {
  const over = new AbortController();
  const pending = new Set<Promise<unknown>>();
  const answers = new Map<number, number>();
  async function once(): Promise<void> {
    for (const ask of [() => post(url(), workspace, MESSAGE), () => poll(url(), workspace)]) {
      const status = await ask().then(
        (answer) => answer.status,
        () => 0,
      );
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
  }
  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      if (pending.size < 100) {
        const asking = once().finally(() => pending.delete(asking));
        pending.add(asking);
      }
      await sleep(EVERY_MS);
    }
  }
  const running = run();
  return {
    /** The number of answers for each status. Requests without an answer count under the status 0. */
    answers: answers as ReadonlyMap<number, number>,
    async stop() {
      over.abort();
      await running;
      await Promise.all(pending);
    },
  };
}
