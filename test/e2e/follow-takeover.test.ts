import { shardOf } from "../../core/domain/shard";
import type { FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import { startConsumer, type, type Consumer, type Seen } from "../harness/consumer";
import { startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, createWorkspace, type CoreClients, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

const SHARDS = 16;
const WORKSPACES = 10;
/** A lease's four seconds, the beats around them, and a busy machine. */
const TAKE_OVER_MS = 20_000;

let redis: TestRedis;
let core: TestProcess;
let edge: TestProcess;
let clients: CoreClients;
let workspaces: readonly TestWorkspace[];
let groups = 0;
const open = new Set<Consumer>();

beforeAll(async () => {
  redis = await startTestRedis();
  core = await startCore(redis.url);
  edge = await startEdge(core.port);
  clients = connectToCore(core.port);
  workspaces = await Promise.all(Array.from({ length: WORKSPACES }, () => createWorkspace(clients)));
});
afterEach(() => {
  for (const consumer of open) consumer.cancel();
  open.clear();
});
afterAll(async () => {
  clients.close();
  await edge.stop();
  await core.stop();
  await redis.close();
});

async function start(how: Parameters<typeof FollowOpen.create>[0], of = clients): Promise<Consumer> {
  const consumer = startConsumer(of.games, { window: 1_000, ...how });
  open.add(consumer);
  return consumer.opened();
}

/** Types the same texts in every workspace. */
async function typeEverywhere(...texts: readonly string[]): Promise<void> {
  const typeIn = async (workspace: TestWorkspace): Promise<void> => {
    for (const text of texts) {
      expect(await type(`http://127.0.0.1:${edge.port}`, workspace, text)).toBe(true);
    }
  };
  await Promise.all(workspaces.map(typeIn));
}

/** What each workspace's events were, by text, when each came to anyone for the first time. */
function firstComings(...consumers: readonly Consumer[]): readonly (readonly string[])[] {
  const seen = consumers.flatMap((consumer) => consumer.seen);
  return workspaces.map(({ id }) => [
    ...new Set(seen.filter(({ workspaceId }) => workspaceId === id).map(({ text }) => text)),
  ]);
}

const everywhere = (...texts: readonly string[]): readonly (readonly string[])[] =>
  workspaces.map(() => texts);

/** The workspaces of the events that are the n-th of two consumers', in the order of their names. */
function partOf(place: number): ReadonlySet<string> {
  return new Set(workspaces.map(({ id }) => id).filter((id) => shardOf(id, SHARDS) % 2 === place));
}

function workspacesOf(seen: readonly Seen[], text: string): ReadonlySet<string> {
  return new Set(seen.filter((each) => each.text === text).map(({ workspaceId }) => workspaceId));
}

test("a second consumer takes its part of the workspaces, the first keeps the rest, and has all again when it leaves", async () => {
  const group = `group-${++groups}`;
  const first = await start({ group, consumer: "a" });
  first.ackAll();
  await typeEverywhere("alone");
  await first.sees(WORKSPACES);

  const second = await start({ group, consumer: "b" });
  second.ackAll();
  // Shared out by now or not: whoever gets them acks them.
  let round = 0;
  await until(
    "the workspaces are shared out",
    async () => {
      const text = `shared-${++round}`;
      await typeEverywhere(text);
      await until("all came", () => first.seen.length + second.seen.length >= WORKSPACES * (round + 1));
      return (
        workspacesOf(second.seen, text).size === partOf(1).size &&
        [...partOf(1)].every((id) => workspacesOf(second.seen, text).has(id))
      );
    },
    TAKE_OVER_MS,
  );
  expect(workspacesOf(first.seen, `shared-${round}`)).toEqual(partOf(0));

  second.halfClose();
  await second.ended();
  await typeEverywhere("again");
  await until(
    "the first has all again",
    () => workspacesOf(first.seen, "again").size === WORKSPACES,
    TAKE_OVER_MS,
  );
  const shared = Array.from({ length: round }, (_, i) => `shared-${i + 1}`);
  const all = [...first.seen, ...second.seen];
  expect(all.every(({ attempt }) => attempt === 1)).toBe(true);
  expect(firstComings(first, second).map((texts) => texts.toSorted())).toEqual(
    everywhere(...["alone", ...shared, "again"].toSorted()),
  );
}, 60_000);

test("what a consumer left unacked comes again to the others when it leaves, before anything newer", async () => {
  const group = `group-${++groups}`;
  const first = await start({ group, consumer: "a" });
  await typeEverywhere("one", "two");
  await first.sees(2 * WORKSPACES);
  first.ack(...first.seen.filter(({ text }) => text === "one"));
  first.halfClose();
  await first.ended();
  await typeEverywhere("three");
  const second = await start({ group, consumer: "b" });
  await second.sees(2 * WORKSPACES, TAKE_OVER_MS);
  const inOrder = workspaces.map(({ id }) =>
    second.seen
      .filter(({ workspaceId }) => workspaceId === id)
      .map(({ text, attempt }) => `${text}/${attempt}`),
  );
  expect(inOrder).toEqual(everywhere("two/2", "three/1"));
}, 60_000);

test("when a core is killed, the consumers of another take over, in order, and nothing is lost", async () => {
  const group = `group-${++groups}`;
  const doomed = await startCore(redis.url);
  const doomedClients = connectToCore(doomed.port);
  try {
    const first = await start({ group, consumer: "a" }, doomedClients);
    await typeEverywhere("one", "two");
    await first.sees(2 * WORKSPACES);
    first.ack(...first.seen.filter(({ text }) => text === "one"));
    const second = await start({ group, consumer: "b" });
    second.ackAll();
    await typeEverywhere("three");
    await doomed.stop("SIGKILL");
    await typeEverywhere("four");

    await until(
      "the other has taken over",
      () => firstComings(second).every((texts) => texts.includes("two") && texts.includes("four")),
      TAKE_OVER_MS,
    );
    const tail = firstComings(second).map((texts) => texts.filter((text) => text !== "one"));
    expect(tail).toEqual(everywhere("two", "three", "four"));
    expect(second.seen.filter(({ text }) => text === "two").every(({ attempt }) => attempt > 1)).toBe(true);
  } finally {
    doomedClients.close();
    await doomed.stop("SIGKILL");
  }
}, 60_000);

test("a consumer that never acks does not keep workspaces from one that joins", async () => {
  const group = `group-${++groups}`;
  const stuck = await start({ group, consumer: "a", ackDeadline: { seconds: 2 } });
  await typeEverywhere("one");
  await stuck.sees(WORKSPACES);
  const healthy = await start({ group, consumer: "b" });
  healthy.ackAll();
  await until(
    "the part of the second has moved",
    () => [...partOf(1)].every((id) => workspacesOf(healthy.seen, "one").has(id)),
    TAKE_OVER_MS,
  );
  expect(workspacesOf(healthy.seen, "one")).toEqual(partOf(1));
}, 60_000);
