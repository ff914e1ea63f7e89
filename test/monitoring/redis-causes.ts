import { setTimeout as sleep } from "node:timers/promises";
import { startEdge, type TestProcess } from "../harness/processes";
import { publish, textEvent } from "../harness/service";
import { keyOf } from "../harness/store";
import { until } from "../harness/wait";
import type { Cause, Rig } from "./rig";

/** Milliseconds for which Redis repeatedly pauses, and milliseconds between two pauses. */
const PAUSED_MS = 600;
const BETWEEN_MS = 300;

async function usedMemory({ command }: Rig): Promise<number> {
  const [, used = "0"] = /^used_memory:(\d+)/m.exec(String(await command("INFO", "memory"))) ?? [];
  return Number(used);
}

export const slowRedisCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeRedisSlow", "ChatBridgeSlowAnswers"],
    what: "Redis answers only after half a second",
    isLoadToo: true,
    async begin() {
      const over = new AbortController();
      async function pauseAgain(): Promise<void> {
        while (!over.signal.aborted) {
          await rig.command("CLIENT", "PAUSE", String(PAUSED_MS), "ALL");
          await sleep(PAUSED_MS + BETWEEN_MS);
        }
      }
      const pausing = pauseAgain();
      return () => {
        over.abort();
        return pausing;
      };
    },
  },
  {
    alerts: ["ChatBridgeRedisClockBehind"],
    what: "the clock of Redis was 20 seconds ahead, and was then corrected",
    async begin() {
      const { id } = await rig.service.workspaces.make();
      await publish(rig.service.clients, textEvent(id, "before"));
      // Sets the last sequence to that of an event that was published while the clock was ahead.
      const state = keyOf(rig.store, id, "st");
      await rig.command("HSET", state, "sequence", String((Date.now() + 20_000) * 1_000));
      await publish(rig.service.clients, textEvent(id, "after"));
      return async () => undefined;
    },
  },
];

export const fullRedisCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeRedisNearlyFull", "ChatBridgeStoreFull"],
    what: "Redis has reached its maxmemory",
    async begin() {
      const used = await usedMemory(rig);
      await rig.command("CONFIG", "SET", "maxmemory", String(Math.floor(used * 0.99)));
      return () => rig.command("CONFIG", "SET", "maxmemory", "0");
    },
  },
];

export const awayRedisCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeRedisCallsFail", "ChatBridgeRequestsUnanswered", "ChatBridgeShardsNotHeld"],
    what: "Redis does not answer",
    async begin() {
      process.kill(rig.service.redis.pid, "SIGSTOP");
      return async () => process.kill(rig.service.redis.pid, "SIGCONT");
    },
  },
];

export const stopCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeNoCore", "ChatBridgeNoEdge"],
    what: "all cores and edges are stopped",
    async begin() {
      await Promise.all([rig.core.stop(), rig.service.edge.stop()]);
      return async () => {
        await rig.restartCore();
        const edge = await startEdge(rig.core.port);
        started.push(edge);
        rig.watch("edge", edge);
        await until("Prometheus reads both", async () => {
          const [count] = await rig.prometheus.query('count(up{job="chat-bridge"} == 1)');
          return count === 2;
        });
      };
    },
  },
];

const started: TestProcess[] = [];
/** Stops the processes that were started in order to remove a fault. */
export async function stopStarted(): Promise<void> {
  for (const each of started.splice(0).toReversed()) await each.stop();
}
