import type { Delivery, ResponseStart } from "../../core/domain/delivery";
import type { Workspace } from "../../core/domain/workspace";
import type { PushRecord, QueuedPush, Recorded } from "../../core/ports/push-queue";
import { addWorkspace, publication, sequenceOf, type TestStore } from "./store";

export const TOKEN = "a token";

/** Returns the log entry of an attempt. */
export const deliveryOf = (
  push: Pick<QueuedPush, "eventId" | "eventType">,
  attempt: number,
  result: Delivery["result"],
): Delivery => ({
  eventId: push.eventId,
  eventType: push.eventType,
  attempt,
  result,
  status: result === "success" ? 204 : undefined,
  latencyMs: 12,
  address: "127.0.0.1",
});

/** Returns functions that use a store's push queues like a core that holds the leases of all shards. */
export function pushQueueOf(store: TestStore) {
  const shardOf = ({ id }: Pick<Workspace, "id">): number => store.keys.shard(id);
  /** Acquires or renews the lease of a shard. */
  const keepLease = (shard: number) =>
    store.leases.take({ group: "!cores", name: TOKEN, token: TOKEN }, shard);

  /** Publishes an event. As in a real envelope, more JSON follows the event's sequence. Returns the sequence. */
  async function publish(
    { id }: Workspace,
    label: string,
    fields: Parameters<typeof publication>[2] = {},
  ): Promise<number> {
    const envelope = { beforeSequence: `{"label":"${label}","sequence":`, afterSequence: ',"z":1}' };
    return sequenceOf(await store.outboundEvents.publish(publication(id, label, { envelope, ...fields })));
  }

  async function queueOf(workspace: Workspace, after?: string, most = { events: 100, bytes: 1_000_000 }) {
    await keepLease(shardOf(workspace));
    const read = await store.pushQueue.read(TOKEN, shardOf(workspace), after, most);
    if (read === undefined) throw new Error("the lease is lost");
    return read.pushes.filter(({ workspaceId }) => workspaceId === workspace.id);
  }

  async function queue(workspace: Workspace, label: string, fields: Parameters<typeof publication>[2] = {}) {
    await publish(workspace, label, fields);
    const push = (await queueOf(workspace, undefined, { events: 10_000, bytes: 1e9 })).at(-1);
    if (push?.eventId !== `evt_${label}`) throw new Error("the event is not queued");
    return push;
  }

  async function record(
    push: QueuedPush,
    next: PushRecord["next"]["do"] | PushRecord["next"],
    delivery?: Delivery,
    { token = TOKEN, response }: { token?: string; response?: ResponseStart } = {},
  ): Promise<Recorded> {
    const shard = shardOf({ id: push.workspaceId });
    await keepLease(shard);
    const does = (typeof next === "string" ? { do: next } : next) as PushRecord["next"];
    return store.pushQueue.record(token, shard, { push, delivery, response, next: does });
  }

  return {
    shardOf,
    keepLease,
    publish,
    queueOf,
    addPushed: async (): Promise<Workspace> =>
      (await addWorkspace(store, { targetUrl: "https://bridge.example/events" })).workspace,
    /** Publishes an event, and returns the queued event. */
    queue,
    record,
    /** Publishes an event whose only attempt fails, and returns the queued event. */
    async fail(workspace: Workspace, label: string, fields: Parameters<typeof publication>[2] = {}) {
      const push = await queue(workspace, label, fields);
      expect(await record(push, "keep", deliveryOf(push, 1, "timeout"))).toBe("recorded");
      return push;
    },
    /** Returns the ids of the failed events, newest failure first. */
    failedOf: async ({ id }: Workspace) => (await store.failedEvents.list(id)).map(({ eventId }) => eventId),
    sendAgain: ({ id }: Workspace, ...labels: readonly string[]) =>
      store.failedEvents.sendAgain(
        id,
        labels.map((label) => `evt_${label}`),
        "ada",
      ),
    async logged({ id }: Workspace): Promise<readonly string[]> {
      const deliveries = await store.deliveryLog.read(id, 100, undefined);
      return deliveries.map(({ eventId, attempt, result }) => `${eventId} ${attempt} ${result}`);
    },
    async change({ id }: Workspace, fields: Partial<Workspace>): Promise<void> {
      const current = await store.workspaces.read(id);
      if (current === undefined) throw new Error("no such workspace");
      expect(await store.workspaces.replace({ ...current.workspace, ...fields }, current.version)).toBe(true);
    },
  };
}
