import { setTimeout as sleep } from "node:timers/promises";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { status } from "../harness/behaviours";
import { published } from "../harness/contents";
import { eventIdOf } from "../harness/push";
import { startPushCores, untilLogged, type NumberedCore, type PushCores } from "../harness/push-cores";
import { publish, textEvent } from "../harness/service";
import { until } from "../harness/wait";

const { STATUS } = DeliveryResult;
const STOPPED_MS = 8_000;

let cores: PushCores;
let sleeper: NumberedCore;
let other: NumberedCore;
let workspaceIds: readonly string[];
beforeAll(async () => {
  cores = await startPushCores();
  sleeper = await cores.start();
  other = await cores.start();
  workspaceIds = await cores.makeWorkspaces(other);
}, 60_000);
afterAll(() => cores.close());

async function publishTo(ids: readonly string[], text: string) {
  const results = await publish(other.clients, ...ids.map((id) => textEvent(id, text)));
  return results.map((result, i) => ({ workspaceId: ids[i] ?? "", eventId: published(result).eventId }));
}

/** The workspaces that a core pushes for. */
async function pushedBy({ address }: NumberedCore): Promise<readonly string[]> {
  const events = await publishTo(workspaceIds, "whose is it?");
  const lines = await untilLogged(other, events, 1, 15_000);
  return workspaceIds.filter((_, i) => lines[i]?.[0]?.address === address);
}

test("a core that was stopped for 8 s does nothing by a lease that it has lost meanwhile", async () => {
  const isHalf = (ids: readonly string[]) => ids.length === workspaceIds.length / 2 && ids;
  const ids = await until("half of the shards is its", async () => isHalf(await pushedBy(sleeper)), 30_000);

  // Two events each: one whose third attempt is due while the core is stopped, one whose first is under way. Both
  // leave seconds for the stop: the third attempt is due 3 s after the second, and no answer comes for 4 s.
  cores.behave(({ body }) => status(500, body.includes("under way") ? { afterMs: 4_000 } : {}));
  const resting = await publishTo(ids, "resting");
  await untilLogged(other, resting, 2);
  const underWay = await publishTo(ids, "under way");
  const madeBy = ({ requests }: NumberedCore, { eventId }: { readonly eventId: string }) =>
    requests.filter((request) => eventIdOf(request) === eventId).length;
  await until("they are under way", () => underWay.every((event) => madeBy(sleeper, event) === 1));
  sleeper.process.child.kill("SIGSTOP");
  const stoppedAt = performance.now();
  cores.behave(status(500));

  // The other core takes over and makes what remains; an attempt of which nobody knows how it ended, again.
  const taken = await untilLogged(other, [...resting, ...underWay], 3, 20_000);
  await sleep(Math.max(0, stoppedAt + STOPPED_MS - performance.now()));
  sleeper.process.child.kill("SIGCONT");
  await until(
    "it pushes again, by leases that are its own",
    async () => isHalf(await pushedBy(sleeper)),
    20_000,
  );

  expect(await untilLogged(other, [...resting, ...underWay], 3)).toEqual(taken);
  const line = (attempt: number, { address }: NumberedCore) => ({ attempt, result: STATUS, address });
  expect(taken.slice(0, resting.length)).toEqual(
    resting.map(() => [line(1, sleeper), line(2, sleeper), line(3, other)]),
  );
  expect(taken.slice(resting.length)).toEqual(
    underWay.map(() => [line(1, other), line(2, other), line(3, other)]),
  );
  // Nor did it push anything: what it woke up with was let go of.
  expect(resting.map((event) => [madeBy(sleeper, event), madeBy(other, event)])).toEqual(
    resting.map(() => [2, 1]),
  );
  expect(underWay.map((event) => [madeBy(sleeper, event), madeBy(other, event)])).toEqual(
    underWay.map(() => [1, 3]),
  );
}, 90_000);
