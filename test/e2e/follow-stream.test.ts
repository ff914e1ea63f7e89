import { isWarning } from "../harness/output";
import { setTimeout as pause } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { FollowAck, FollowOpen, FollowRequest } from "../../proto/gen/chatbridge/v1/game";
import { attemptsOf, typeIn, useFollowers } from "../harness/followers";
import { readMetrics } from "../harness/metrics";
import { outputOf } from "../harness/output";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const followers = useFollowers();
const start = (open: Parameters<typeof FollowOpen.create>[0]) => followers.start(service.clients, open);
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await service.workspaces.make();
});

describe("opening:", () => {
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
  ])(
    "a stream with an invalid %s is rejected with INVALID_ARGUMENT and an error that names the field: %j",
    async (field, open) => {
      const consumer = start(open);
      const { code, details } = await consumer.ended();
      expect([code, consumer.isOpen]).toEqual([status.INVALID_ARGUMENT, false]);
      expect(details).toContain(field);
    },
  );

  test.each<[string, Parameters<typeof FollowOpen.create>[0]]>([
    ["names of one character and a window of 1", { group: "g", consumer: "c", window: 1 }],
    ["every character that names can have", { group: "AZaz09._-", consumer: "AZaz09._-" }],
    [
      "the longest names and the largest window",
      { group: "g".repeat(64), consumer: "c".repeat(64), window: 1_000 },
    ],
    ["the shortest ack deadline", { ackDeadline: { seconds: 1 } }],
    ["the longest ack deadline", { ackDeadline: { seconds: 600 } }],
  ])("a stream can be opened with %s", async (_name, open) => {
    expect((await start(open).opened()).end).toBeUndefined();
  });

  const ack = FollowRequest.create({ say: { $case: "ack", value: FollowAck.create({ deliveryIds: [] }) } });
  const opening = FollowRequest.create({
    say: { $case: "open", value: FollowOpen.create({ group: "g", consumer: "c", window: 1 }) },
  });

  test.each([
    ["an ack is sent first", [ack]],
    ["an empty request is sent first", [FollowRequest.create({})]],
    ["`open` is sent twice", [opening, opening]],
    ["an empty request is sent after `open`", [opening, FollowRequest.create({})]],
  ])("a stream is rejected with INVALID_ARGUMENT when %s", async (_name, requests) => {
    const stream = followers.startSilent(service.clients);
    for (const request of requests) stream.say(request);
    const end = await stream.ended();
    expect([end.code, end.details]).toEqual([status.INVALID_ARGUMENT, expect.stringContaining("open")]);
  });
});

test("a new stream of a consumer replaces its old stream, which ends with ABORTED", async () => {
  const group = followers.newGroup();
  const older = await start({ group }).opened();
  await typeIn(service.url, workspace, "one");
  await older.sees(1);
  const newer = start({ group });
  expect((await older.ended()).code).toBe(status.ABORTED);
  expect(attemptsOf(await newer.sees(1))).toEqual(["one/2"]);
  expect(newer.end).toBeUndefined();
});

test("a stream ends with OK when its client half-closes it", async () => {
  const opened = await start({ group: followers.newGroup() }).opened();
  const silent = followers.startSilent(service.clients);
  for (const stream of [opened, silent]) {
    stream.halfClose();
    expect((await stream.ended()).code).toBe(status.OK);
  }
});

test("streams that are cancelled or closed leave their group, and core logs no warning", async () => {
  const group = followers.newGroup();
  for (let i = 0; i < 20; i++) {
    const consumer = await start({ group, consumer: `c${i % 5}` }).opened();
    if (i % 2 === 0) consumer.cancel();
    else consumer.halfClose();
    await consumer.ended();
  }
  // If a closed stream still belonged to the group, the events of the stream's shards would not reach the consumer
  // `last`.
  const last = await start({ group, consumer: "last" }).opened();
  last.ackAll();
  const workspaces = await Promise.all(Array.from({ length: 8 }, () => service.workspaces.make()));
  await Promise.all(workspaces.map((each) => typeIn(service.url, each, "x")));
  const seen = await last.sees(workspaces.length);
  expect(new Set(seen.map(({ workspaceId }) => workspaceId)).size).toBe(workspaces.length);
  // Other test files use this core too, and the last attempts of their events may fail during this test.
  const warnings = service.core.log.filter(
    (line) =>
      line["msg"] !== "a push was dropped" &&
      (isWarning(line) || /leak|unexpected/i.test(String(line["msg"]))),
  );
  expect(warnings).toEqual([]);
});

describe("limits:", () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

  test("a stream over the limit of its group is rejected with RESOURCE_EXHAUSTED until another stream closes; the error names the limit", async () => {
    const group = followers.newGroup();
    const all = numbers(64).map((i) => start({ group, consumer: `c${i}` }));
    await Promise.all(all.map((each) => each.opened()));
    const further = start({ group, consumer: "further" });
    const { code, details } = await further.ended();
    expect([code, further.isOpen]).toEqual([status.RESOURCE_EXHAUSTED, false]);
    expect(details).toContain("64 streams");
    await typeIn(service.url, workspace, "x");
    await until("one of the streams has the event", () => all.some(({ seen }) => seen.length > 0));
    expect(outputOf(service.core)).not.toMatch(/Warning/);
    all[0]?.halfClose();
    await all[0]?.ended();
    expect((await start({ group, consumer: "further" }).opened()).end).toBeUndefined();
  });

  test("a stream over the limit of its token is rejected with RESOURCE_EXHAUSTED until other streams close; the error names the limit", async () => {
    const all = numbers(236).map(() => followers.startSilent(service.clients));
    const refused = () => all.filter(({ end }) => end !== undefined);
    await until("44 streams are rejected", () => refused().length === 44);
    expect(refused()[0]?.end).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringContaining("192 Follow streams") as string,
    });
    for (const each of all) if (each.end === undefined) each.halfClose();
    await Promise.all(all.map((each) => each.ended()));
    expect(all.filter(({ end }) => end?.code === status.OK)).toHaveLength(192);
    expect((await start({ group: followers.newGroup() }).opened()).end).toBeUndefined();
  });
});

test("when a consumer stops reading, core sends only what the connection can buffer, and sends the rest when the consumer reads again", async () => {
  const { id, secret } = await service.workspaces.make();
  const consumer = await start({ group: followers.newGroup(), window: 1_000 }).opened();
  consumer.pause();
  const texts = Array.from({ length: 240 }, (_, i) => `${i} ${"😀".repeat(3_900)}`);
  await Promise.all(texts.map((text) => typeIn(service.url, { id, secret }, text)));
  const inFlight = async () =>
    (await readMetrics(service.core)).get("chatbridge_core_follow_in_flight")?.values.get("") ?? 0;
  const sent = await until("nothing more is sent", async () => {
    const before = await inFlight();
    return before > 0 && (await pause(300, before)) === (await inFlight()) && before;
  });
  expect(sent).toBeLessThan(200);
  consumer.ackAll();
  consumer.resume();
  const seen = await consumer.sees(texts.length);
  expect(new Set(seen.map(({ text }) => text))).toEqual(new Set(texts));
});
