import { sayNothing, status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { startConsumer, type, type Consumer } from "../harness/consumer";
import { call } from "../harness/core-clients";
import { openPollDue } from "../harness/poll-due";
import { textEvents, type PushedBridge } from "../harness/push";
import { publish, textEvent } from "../harness/service";
import { until } from "../harness/wait";
import type { Cause, Rig } from "./rig";

/** Milliseconds by which the test ages a waiting event: long enough for core to count the bridge as failing. */
const SILENT_MS = 6 * 60_000;

/** Maximum milliseconds for the thousand requests that fill the inbound log, on a busy machine. */
const FILLED_WITHIN_MS = 150_000;

/**
 * Makes it look as if a bridge had stopped polling while an event waits. Returns a function that makes the bridge poll
 * again.
 */
async function stopPolling({ service }: Rig): Promise<() => Promise<unknown>> {
  const workspace = await service.workspaces.make({ ownerEmail: "owner@team.example" });
  await publish(service.clients, textEvent(workspace.id, "waits"));
  const due = await openPollDue({ url: service.redis.url });
  await due.pass(workspace.id, SILENT_MS);
  await due.close();
  return () => poll(service.url, workspace);
}

/**
 * Makes a bridge accept pushes, and publishes events until the bridge's workspace is no longer failing. An attempt that
 * began earlier can still fail, so each event is published only when no push is queued.
 */
async function acceptAgain({ store, publish: publishPushes }: Rig, bridge: PushedBridge): Promise<void> {
  const { workspaceId } = bridge;
  bridge.behave(status(204));
  await until("the workspace is not failing", async () => {
    const { pushes } = await store.backlog.read(store.keys.shard(workspaceId));
    if (pushes > 0) return false;
    const [standing] = await store.workspaceStates.read([workspaceId]);
    if (standing?.state !== "failing") return true;
    await publishPushes(textEvent(workspaceId, "again"));
    return false;
  });
}

/**
 * Closes the only stream of a group of followers, and deletes the group. Core refuses to delete a group with an open
 * stream.
 */
async function deleteGroup({ service }: Rig, consumer: Consumer, name: string): Promise<void> {
  const { workspaces } = service.clients;
  consumer.cancel();
  await until("the group is deleted", () =>
    call(workspaces, workspaces.deleteGroup, { name }).then(
      () => true,
      () => false,
    ),
  );
}

/** Faults whose alerts fire only after more than half a minute. */
export const slowCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeGameBehind"],
    what: "a game does not ack an event for more than a minute",
    async begin() {
      const { games } = rig.service.clients;
      const consumer = await startConsumer(games, { group: "stuck" }).opened();
      return () => deleteGroup(rig, consumer, "stuck");
    },
  },
  {
    alerts: ["ChatBridgePushesStopped"],
    what: "core's Redis user lacks the permission to remove events from a push queue",
    async begin() {
      const bridge = await rig.bridge();
      await rig.command("ACL", "SETUSER", "default", "-xdel");
      await rig.publish(textEvent(bridge.workspaceId, "stays"));
      return async () => {
        await rig.command("ACL", "SETUSER", "default", "+xdel");
        // The documentation of the alert says to restart core, because core does not try again to record the same
        // attempt.
        await rig.restartCore();
        await acceptAgain(rig, bridge);
      };
    },
  },
];

export const deliveryCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeBridgeStoppedPolling", "ChatBridgeEmailsWait"],
    what: "a bridge stops polling while the mail server temporarily rejects emails",
    async begin() {
      rig.mail.behave({ refuse: 451 });
      const pollAgain = await stopPolling(rig);
      return async () => {
        rig.mail.behave("accept");
        await pollAgain();
      };
    },
  },
  {
    alerts: ["ChatBridgePushesFail", "ChatBridgeWorkspacesFail", "ChatBridgeRetriesExhausted"],
    what: "a bridge answers pushes with 500",
    async begin() {
      const bridge = await rig.bridge();
      bridge.behave(status(500));
      await rig.publish(...textEvents(bridge.workspaceId, 5));
      const again = setInterval(() => void rig.publish(textEvent(bridge.workspaceId, "again")), 1_000);
      return async () => {
        clearInterval(again);
        await acceptAgain(rig, bridge);
      };
    },
  },
  {
    alerts: ["ChatBridgePushesLate", "ChatBridgePushesOverloaded"],
    what: "a bridge does not answer the pushes of many queued events",
    async begin() {
      const bridge = await rig.bridge();
      bridge.behave(sayNothing());
      await rig.publish(...textEvents(bridge.workspaceId, 100));
      const again = setInterval(() => void rig.publish(...textEvents(bridge.workspaceId, 20)), 1_000);
      return async () => {
        clearInterval(again);
        await acceptAgain(rig, bridge);
      };
    },
  },
  {
    alerts: ["ChatBridgeInboundDropped"],
    what: "the inbound log is full before a game has acked its events",
    async begin() {
      const { games } = rig.service.clients;
      const workspace = await rig.service.workspaces.make();
      const consumer = await startConsumer(games, { group: "asleep" }).opened();
      consumer.pause();
      await until(
        "core has dropped an event",
        async () => {
          const texts = Array.from({ length: 50 }, (_, i) => `${i}`);
          await Promise.all(texts.map((text) => type(rig.service.url, workspace, text)));
          return ((await rig.prometheus.query("sum(chatbridge_core_inbound_dropped_total)"))[0] ?? 0) > 0;
        },
        FILLED_WITHIN_MS,
      );
      return () => deleteGroup(rig, consumer, "asleep");
    },
  },
];

export const mailCauses = (rig: Rig): readonly Cause[] => [
  {
    alerts: ["ChatBridgeEmailsDropped", "ChatBridgeOperatorEventsDropped"],
    what: "the mail server permanently rejects the addresses of an owner and of an operator",
    async begin() {
      rig.mail.behave({ refuse: 550 });
      const pollAgain = await stopPolling(rig);
      return async () => {
        await until("core has dropped the email and the event", async () => {
          const { log } = rig.core;
          return ["an email", "an operator event"].every((what) =>
            log.some(({ msg }) => String(msg).includes(what) && /rejected.*dropped/.test(String(msg))),
          );
        });
        rig.mail.behave("accept");
        await pollAgain();
      };
    },
  },
];
