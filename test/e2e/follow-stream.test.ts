import { status } from "@grpc/grpc-js";
import { FollowAck, FollowOpen, FollowRequest } from "../../proto/gen/chatbridge/v1/game";
import { startConsumer, startStream, type, type Consumer, type Seen } from "../harness/consumer";
import { outputOf } from "../harness/output";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
let workspaces: readonly TestWorkspace[];
let groups = 0;
const open = new Set<Consumer>();

beforeAll(async () => {
  workspaces = await Promise.all(Array.from({ length: 8 }, () => createWorkspace(service.clients)));
});
afterEach(() => {
  for (const consumer of open) consumer.cancel();
  open.clear();
});

const newGroup = (): string => `group-${++groups}`;

function workspace(i = 0): TestWorkspace {
  const found = workspaces[i];
  if (found === undefined) throw new RangeError(`no workspace ${i}`);
  return found;
}

function start(how: Parameters<typeof FollowOpen.create>[0]): Consumer {
  const consumer = startConsumer(service.clients.games, how);
  open.add(consumer);
  return consumer;
}

/** Types messages in a workspace, one after the other. */
async function typeIn(to: TestWorkspace, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect(await type(service.url, to, text)).toBe(true);
}

const texts = (seen: readonly Seen[]): readonly string[] =>
  seen.map(({ text, attempt }) => `${text}/${attempt}`);

describe("the opening", () => {
  test.each<[string, Parameters<typeof FollowOpen.create>[0]]>([
    ["open.group", { group: "" }],
    ["open.group", { group: "g".repeat(65) }],
    ["open.group", { group: "a group" }],
    ["open.group", { group: "g:1" }],
    ["open.group", { group: "g\n" }],
    ["open.consumer", { consumer: "" }],
    ["open.consumer", { consumer: "c".repeat(65) }],
    ["open.consumer", { consumer: "ü" }],
    ["open.window", { window: 0 }],
    ["open.window", { window: 1_001 }],
    ["open.ack_deadline", { ackDeadline: { seconds: 0, nanos: 999_999_999 } }],
    ["open.ack_deadline", { ackDeadline: { seconds: 600, nanos: 1 } }],
    ["open.ack_deadline", { ackDeadline: { seconds: -1 } }],
  ])("is refused with INVALID_ARGUMENT that names %s in %j", async (field, how) => {
    const consumer = start(how);
    const end = await consumer.ended();
    expect([end.code, consumer.isOpen]).toEqual([status.INVALID_ARGUMENT, false]);
    expect(end.details).toContain(field);
  });

  test.each<[string, Parameters<typeof FollowOpen.create>[0]]>([
    ["names of one character and a window of 1", { group: "g", consumer: "c", window: 1 }],
    ["every character that names may have", { group: "AZaz09._-", consumer: "AZaz09._-" }],
    [
      "names of 64 characters and a window of 1,000",
      { group: "g".repeat(64), consumer: "c".repeat(64), window: 1_000 },
    ],
    ["the shortest ack deadline", { ackDeadline: { seconds: 1 } }],
    ["the longest ack deadline", { ackDeadline: { seconds: 600 } }],
  ])("may have %s", async (_name, how) => {
    const consumer = await start(how).opened();
    expect(consumer.end).toBeUndefined();
  });

  const ack = FollowRequest.create({ say: { $case: "ack", value: FollowAck.create({ deliveryIds: [] }) } });
  const opening = FollowRequest.create({
    say: { $case: "open", value: FollowOpen.create({ group: "g", consumer: "c", window: 1 }) },
  });

  test.each([
    ["an ack comes first", [ack]],
    ["nothing is said first", [FollowRequest.create({})]],
    ["it comes twice", [opening, opening]],
    ["nothing is said after it", [opening, FollowRequest.create({})]],
  ])("is INVALID_ARGUMENT when %s", async (_name, requests) => {
    const stream = startStream(service.clients.games);
    open.add(stream);
    for (const request of requests) stream.say(request);
    const end = await stream.ended();
    expect([end.code, end.details]).toEqual([status.INVALID_ARGUMENT, expect.stringContaining("open")]);
  });
});

test("a newer stream of the same consumer takes the place of the older, which ends with ABORTED", async () => {
  const group = newGroup();
  const older = await start({ group }).opened();
  await typeIn(workspace(), "one");
  await older.sees(1);
  const newer = start({ group });
  expect((await older.ended()).code).toBe(status.ABORTED);
  expect(texts(await newer.sees(1))).toEqual(["one/2"]);
  expect(newer.end).toBeUndefined();
});

test("a stream ends when its client has said all it had to say", async () => {
  const opened = await start({ group: newGroup() }).opened();
  const silent = startStream(service.clients.games);
  opened.halfClose();
  silent.halfClose();
  expect([await opened.ended(), await silent.ended()].map(({ code }) => code)).toEqual([
    status.OK,
    status.OK,
  ]);
});

test("streams that are opened and dropped leave nothing behind in core", async () => {
  const group = newGroup();
  for (let i = 0; i < 50; i++) {
    const consumer = await start({ group, consumer: `c${i % 5}` }).opened();
    if (i % 2 === 0) consumer.cancel();
    else consumer.halfClose();
    await consumer.ended();
  }
  // Were one of them still a member, it would keep its shards and these events from the last.
  const last = await start({ group, consumer: "last" }).opened();
  await Promise.all(workspaces.map((each) => typeIn(each, "x")));
  last.ackAll();
  const seen = await last.sees(workspaces.length);
  expect(new Set(seen.map(({ workspaceId }) => workspaceId)).size).toBe(workspaces.length);
  const warnings = service.core.log.filter(
    ({ level, msg }) => Number(level) >= 40 || /leak|unexpected/i.test(String(msg)),
  );
  expect(warnings).toEqual([]);
}, 60_000);

test("many streams at once are nothing that core warns of", async () => {
  const group = newGroup();
  const consumers = Array.from({ length: 15 }, (_, i) => start({ group, consumer: `c${i}`, window: 10 }));
  // The group is there from its first opening on, and so is what it sees.
  await Promise.all(consumers.map((consumer) => consumer.opened()));
  await typeIn(workspace(), "x");
  await until("one of them has it", () => consumers.some(({ seen }) => seen.length > 0));
  expect(outputOf(service.core)).not.toMatch(/Warning/);
});
