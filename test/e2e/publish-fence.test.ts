import { Fence, PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import type { Consumer } from "../harness/consumer";
import { typeIn, useFollowers } from "../harness/followers";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const followers = useFollowers();

/** Publishes an event with a fence. Returns "published", or the reason and the field of the refusal. */
async function publishFenced(workspaceId: string, fence: Parameters<typeof Fence.create>[0], key = "") {
  const event = { ...textEvent(workspaceId, "x"), fence: Fence.create(fence), idempotencyKey: key };
  const [result] = await publish(service.clients, event);
  const { outcome } = result ?? {};
  return outcome?.$case === "refused"
    ? `${PublishRefusal[outcome.value.reason]} ${outcome.value.field}`
    : outcome?.$case;
}

/**
 * Starts two streams of a new group, and posts an event to a new workspace. Returns the workspace, both streams, and
 * the stream that gets the event.
 */
async function startGroup(ackSeconds: number) {
  const group = followers.newGroup();
  const start = async (consumer: string): Promise<Consumer> =>
    followers.start(service.clients, { group, consumer, ackDeadline: { seconds: ackSeconds } }).opened();
  const streams = [await start("a"), await start("b")];
  const { id, secret } = await service.workspaces.make();
  await typeIn(service.url, { id, secret }, "one");
  const owner = await until("the delivery", () => streams.find(({ seen }) => seen.length > 0));
  return { id, owner, streams };
}

// time: smoke
test("after a redelivery, an event with the fence of the first attempt is refused as stale, and an event with the fence of the last attempt is published", async () => {
  const { id, owner, streams } = await startGroup(1);
  const [first] = owner.seen;
  const of = { streamId: owner.streamId, deliveryId: first?.id ?? "", attempt: 1 };
  await until("a redelivery", () => streams.some(({ seen }) => seen.some(({ attempt }) => attempt > 1)));
  expect(await publishFenced(id, of)).toBe("STALE fence");
  // On a slow machine, another redelivery can occur before the event is published.
  await until("the last attempt publishes", async () => {
    const { streamId, seen } = streams.toSorted((a, b) => lastAttempt(b) - lastAttempt(a))[0] ?? owner;
    const { id: deliveryId = "", attempt = 0 } = seen.at(-1) ?? {};
    return attempt > 1 && (await publishFenced(id, { streamId, deliveryId, attempt })) === "published";
  });
});

const lastAttempt = ({ seen }: Consumer): number => seen.at(-1)?.attempt ?? 0;

// time: smoke
test("an event with the fence of a closed stream is refused as stale, unless its idempotency key was used before", async () => {
  const { id, owner } = await startGroup(60);
  const { streamId } = owner;
  expect(await publishFenced(id, { streamId }, "used")).toBe("published");
  owner.cancel();
  await until(
    "the stream has lost its shards",
    async () => (await publishFenced(id, { streamId })) === "STALE fence",
  );
  expect(await publishFenced(id, { streamId }, "used")).toBe("published");
});

test("an invalid fence is refused with the full name of its field", async () => {
  const { id } = await service.workspaces.make();
  expect(await publishFenced(id, {})).toBe("INVALID fence.stream_id");
});
