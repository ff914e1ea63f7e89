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

/** Publishes an event to each workspace through the second core. */
async function publishTo(ids: readonly string[], text: string): Promise<readonly Sent[]> {
  const results = await publish(second.clients, ...ids.map((id) => textEvent(id, text)));
  return results.map((result, i) => ({ workspaceId: ids[i] ?? "", eventId: published(result).eventId }));
}

/** Waits until each of the two cores pushes for half of the shards; returns the workspaces of the first core. */
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
test("when a core hangs, a different core makes the remaining attempts; when the hung core resumes, its old leases have no effect", async () => {
  const ids = await untilShared();
  // Each workspace gets two events. When the first core hangs, the third attempt for one event is not yet due, and the
  // first attempt for the other event is in progress. The test suspends the core in the 3 s between the second attempt
  // and the third.
  const held = holdAnswers();
  cores.behave(({ body }) => (body.includes("in progress") ? held : status(500)));
  const resting = await publishTo(ids, "resting");
  await untilLogged(second, resting, 2);
  const inProgress = await publishTo(ids, "in progress");
  await until("the attempts are in progress", () =>
    inProgress.every((event) => requestsOf(first, event) === 1),
  );
  first.process.child.kill("SIGSTOP");
  cores.behave(status(204));

  // The second core makes the remaining attempts, and repeats the attempts whose results are unknown.
  const takenOver = async () => [
    ...(await untilLogged(second, resting, 3)),
    ...(await untilLogged(second, inProgress, 1)),
  ];
  const lines = await takenOver();
  const line = (attempt: number, result: DeliveryResult, { address }: NumberedCore) => ({
    attempt,
    result,
    address,
  });
  expect(lines).toEqual([
    ...resting.map(() => [line(1, STATUS, first), line(2, STATUS, first), line(3, SUCCESS, second)]),
    ...inProgress.map(() => [line(1, SUCCESS, second)]),
  ]);
  first.process.child.kill("SIGCONT");
  held.release(204);
  // The first core pushes again with new leases, and has dropped the work of its old leases.
  await untilShared();
  expect(await takenOver()).toEqual(lines);
  const counts = (event: Sent) => [requestsOf(first, event), requestsOf(second, event)];
  expect(resting.map(counts)).toEqual(resting.map(() => [2, 1]));
  expect(inProgress.map(counts)).toEqual(inProgress.map(() => [1, 1]));
});

// time: ordering
test("a stopping core finishes its attempts in progress and releases its leases, and no attempt is made twice", async () => {
  const ids = await untilShared();
  const held = holdAnswers();
  // The bridge answers the attempts of the events "in progress" only when `held` is released. The first attempts of all
  // other events fail.
  cores.behave((request) =>
    request.body.includes("in progress") ? held : status(madeByAll(eventIdOf(request)) === 1 ? 500 : 204),
  );
  const inProgress = await publishTo(workspaceIds, "in progress");
  await until("all attempts are in progress", () => held.waiting === workspaceIds.length);
  const resting = await publishTo(workspaceIds, "resting");
  await untilLogged(second, resting, 1);
  const stopped = first.process.stop();
  await until("the first core is stopping", () => first.process.log.some(({ msg }) => msg === "stopping"));
  held.release(204);
  expect(await stopped).toBe(0);
  // No lease belongs to the first core, because it released its leases before it stopped.
  const leases = await watchLeases(cores.redisUrl);
  expect(new Set((await leases.holders()).filter((token) => token !== undefined)).size).toBe(1);
  await leases.close();

  const finished = await untilLogged(second, inProgress, 1);
  expect(finished).toEqual(
    inProgress.map(({ workspaceId }) => {
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
  expect(inProgress.map(({ eventId }) => madeByAll(eventId))).toEqual(inProgress.map(() => 1));
  expect(resting.map(({ eventId }) => madeByAll(eventId))).toEqual(resting.map(() => 2));
});
