import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { holdAnswers, status } from "../harness/behaviours";
import { published } from "../harness/contents";
import { eventIdOf } from "../harness/push";
import {
  startPushCores,
  untilLogged,
  type NumberedCore,
  type PushCores,
  type Sent,
} from "../harness/push-cores";
import { publish, textEvent } from "../harness/service";
import { watchLeases } from "../harness/shard-leases";
import { until } from "../harness/wait";

const { SUCCESS, STATUS } = DeliveryResult;

let cores: PushCores;
let first: NumberedCore;
let second: NumberedCore;
let workspaceIds: readonly string[];
beforeAll(async () => {
  cores = await startPushCores();
  ({ first, second } = cores);
  workspaceIds = await cores.makeWorkspaces();
});
afterAll(() => cores.close());

/** Publishes an event to each workspace, by the second core. */
async function publishTo(ids: readonly string[], text: string): Promise<readonly Sent[]> {
  const results = await publish(second.clients, ...ids.map((id) => textEvent(id, text)));
  return results.map((result, i) => ({ workspaceId: ids[i] ?? "", eventId: published(result).eventId }));
}

/** Waits until both cores push, each for half of the shards; answers the workspaces of the first one's. */
function untilShared(): Promise<readonly string[]> {
  cores.behave(status(204));
  return until("each of two cores pushes for half of the shards", async () => {
    const lines = await untilLogged(second, await publishTo(workspaceIds, "whose is it?"), 1);
    const ids = workspaceIds.filter((_, i) => lines[i]?.[0]?.address === first.address);
    return ids.length === workspaceIds.length / 2 && ids;
  });
}

const requestsOf = ({ requests }: Pick<NumberedCore, "requests">, { eventId }: Pick<Sent, "eventId">) =>
  requests.filter((request) => eventIdOf(request) === eventId).length;
const madeByAll = (eventId: string) => requestsOf({ requests: cores.requests() }, { eventId });

// time: ordering
test("a core that hangs is taken over with the attempts that remain, and does nothing by its old leases when it wakes", async () => {
  const ids = await untilShared();
  // Two events each: one whose third attempt is due while the core hangs, and one whose first is under way. Both leave
  // seconds for the stop.
  const held = holdAnswers();
  cores.behave(({ body }) => (body.includes("under way") ? held : status(500)));
  const resting = await publishTo(ids, "resting");
  await untilLogged(second, resting, 2);
  const underWay = await publishTo(ids, "under way");
  await until("they are under way", () => underWay.every((event) => requestsOf(first, event) === 1));
  first.process.child.kill("SIGSTOP");
  cores.behave(status(204));

  // The other core makes what remains; an attempt of which nobody knows how it ended, again.
  const takenOver = async () => [
    ...(await untilLogged(second, resting, 3)),
    ...(await untilLogged(second, underWay, 1)),
  ];
  const lines = await takenOver();
  const line = (attempt: number, result: DeliveryResult, { address }: NumberedCore) => ({
    attempt,
    result,
    address,
  });
  expect(lines).toEqual([
    ...resting.map(() => [line(1, STATUS, first), line(2, STATUS, first), line(3, SUCCESS, second)]),
    ...underWay.map(() => [line(1, SUCCESS, second)]),
  ]);
  first.process.child.kill("SIGCONT");
  held.release(204);
  // It pushes again, by leases that are its own; what it woke up with was let go of.
  await untilShared();
  expect(await takenOver()).toEqual(lines);
  const counts = (event: Sent) => [requestsOf(first, event), requestsOf(second, event)];
  expect(resting.map(counts)).toEqual(resting.map(() => [2, 1]));
  expect(underWay.map(counts)).toEqual(underWay.map(() => [1, 1]));
});

// time: ordering
test("a core that stops in good order finishes what is under way, hands over, and no attempt is made twice", async () => {
  const ids = await untilShared();
  const held = holdAnswers();
  // Of the others the first attempt fails, whichever core makes it.
  cores.behave((request) =>
    request.body.includes("under way") ? held : status(madeByAll(eventIdOf(request)) === 1 ? 500 : 204),
  );
  const underWay = await publishTo(workspaceIds, "under way");
  await until("all are under way", () => held.waiting === workspaceIds.length);
  const resting = await publishTo(workspaceIds, "resting");
  await untilLogged(second, resting, 1);
  const stopped = first.process.stop();
  await until("it stops", () => first.process.log.some(({ msg }) => msg === "stopping"));
  held.release(204);
  expect(await stopped).toBe(0);
  // Its leases are given back: none has to run out.
  const leases = await watchLeases(cores.redisUrl);
  expect(new Set((await leases.holders()).filter((token) => token !== undefined)).size).toBe(1);
  await leases.close();

  const finished = await untilLogged(second, underWay, 1);
  expect(finished).toEqual(
    underWay.map(({ workspaceId }) => {
      const { address } = ids.includes(workspaceId) ? first : second;
      return [{ attempt: 1, result: SUCCESS, address }];
    }),
  );
  const retried = await untilLogged(second, resting, 2);
  expect(retried.map((each) => each.map(({ attempt, result }) => [attempt, result]))).toEqual(
    resting.map(() => [
      [1, STATUS],
      [2, SUCCESS],
    ]),
  );
  expect(underWay.map(({ eventId }) => madeByAll(eventId))).toEqual(underWay.map(() => 1));
  expect(resting.map(({ eventId }) => madeByAll(eventId))).toEqual(resting.map(() => 2));
});
