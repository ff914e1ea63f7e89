import { sendTestEvent, type TestEventContext } from "../../core/operations/send-test-event";
import type { PollHealth } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { published } from "../harness/contents";
import { openPollDue, type PollDue } from "../harness/poll-due";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const FIVE_MINUTES_MS = 5 * 60 * 1000;

const service = sharedService();
const workspace = freshWorkspace(service, beforeEach);
let due: PollDue;
/** Workspaces, each with an event that has waited for five minutes. */
let failing: readonly TestWorkspace[];
beforeAll(async () => {
  due = await openPollDue(service.redis);
  // Makes both workspaces fail at the same time, so that these tests wait only once: core looks for failing workspaces
  // once a second.
  failing = await Promise.all([service.workspaces.make(), service.workspaces.make()]);
  await Promise.all(failing.map(fail));
});
afterAll(() => due.close());

async function health({ id } = workspace): Promise<PollHealth> {
  const { mode } = (await service.workspaces.get(id)).health ?? {};
  if (mode?.$case !== "poll") throw new Error("the health is not that of a poll workspace");
  return mode.value;
}
const publishTexts = (...texts: readonly string[]) =>
  publish(service.clients, ...texts.map((text) => textEvent(workspace.id, text)));

/**
 * Publishes an event to a workspace, makes five minutes pass for the workspace, and waits until the workspace is
 * failing.
 */
async function fail(of: TestWorkspace): Promise<void> {
  await publish(service.clients, textEvent(of.id, "one"));
  await due.pass(of.id, FIVE_MINUTES_MS);
  await until("the workspace is failing", async () => (await health(of)).failing);
}

// time: controlled
// contract: health-failing
test("a poll workspace is failing as soon as its oldest event has waited 5 minutes without a poll", async () => {
  await poll(service.url, workspace);
  expect(await due.of(workspace.id)).toBeUndefined();
  expect(await health()).toMatchObject({ failing: false, waiting: 0 });
  const [result] = await publishTexts("one");
  const dueAt = (await due.of(workspace.id)) ?? 0;
  // A sequence is the time of publication on the clock of Redis, in microseconds.
  const publishedAt = published(result).sequence / 1_000;
  expect(Math.abs(dueAt - (publishedAt + FIVE_MINUTES_MS))).toBeLessThanOrEqual(1);
  await publishTexts("two");
  expect(await due.of(workspace.id)).toBe(dueAt);
  expect(await health()).toMatchObject({ failing: false, waiting: 2 });
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await until("the workspace is failing", async () => (await health()).failing);
  expect(await health()).toMatchObject({ failing: true, waiting: 2 });
});

// time: ordering
// contract: health-healthy
test("a poll makes a failing workspace healthy, and gives its remaining events another 5 minutes; a rejected poll does neither", async () => {
  Object.assign(workspace, failing[0]);
  await publishTexts("two");
  expect((await poll(service.url, workspace, "limit=0")).status).toBe(400);
  expect((await poll(service.url, { ...workspace, secret: "wrong" })).status).toBe(401);
  expect(await health()).toMatchObject({ failing: true, waiting: 2 });
  const before = Date.now();
  await poll(service.url, workspace, "limit=1");
  expect(await health()).toMatchObject({ failing: false, waiting: 1 });
  expect(await due.of(workspace.id)).toBeGreaterThanOrEqual(before + FIVE_MINUTES_MS - 1);
  await poll(service.url, workspace);
  expect(await health()).toMatchObject({ failing: false, waiting: 0 });
  expect(await due.of(workspace.id)).toBeUndefined();
});

test("a poll with `after=latest`, or with the newest event's cursor, leaves no event waiting", async () => {
  for (const from of ["latest", "newest"]) {
    const [result] = await publishTexts("one");
    expect(await health()).toMatchObject({ waiting: 1 });
    await poll(service.url, workspace, `after=${from === "latest" ? from : published(result).sequence}`);
    expect(await health()).toMatchObject({ waiting: 0 });
  }
});

// contract: poll-next
test("a poll with a cursor beyond the newest event gets an empty page, and the held events still wait", async () => {
  const [result] = await publishTexts("one", "two", "three");
  const { sequence } = published(result);
  for (const after of ["999999999999999999", "9007199254740993", `${sequence + 60_000_000}`]) {
    const { json } = await poll(service.url, workspace, `after=${after}`);
    expect(json).toEqual({ events: [], next: after, hasMore: false, gap: false });
    expect(await health()).toMatchObject({ waiting: 3 });
    expect(await due.of(workspace.id)).toBeDefined();
  }
  expect((await poll(service.url, workspace, "limit=2")).json).toMatchObject({ hasMore: true });
  await poll(service.url, workspace, "after=999999999999999999");
  expect(await health()).toMatchObject({ waiting: 1 });
});

// time: ordering
test("setting a target URL ends a workspace's outage; when the URL is cleared, waiting events get another 5 minutes", async () => {
  Object.assign(workspace, failing[1]);
  await service.workspaces.setTargetUrl(workspace.id, "https://93.184.215.14/");
  expect(await due.of(workspace.id)).toBeUndefined();
  const before = Date.now();
  await service.workspaces.setTargetUrl(workspace.id, "");
  expect(await health()).toMatchObject({ failing: false, waiting: 1 });
  expect(await due.of(workspace.id)).toBeGreaterThanOrEqual(before + FIVE_MINUTES_MS - 1);
});

// contract: test-event
test("a test event for a poll workspace queues a ping, and reports whether the bridge polled within the last minute", async () => {
  const expectPolled = async (polledWithinLastMinute: boolean) => {
    const { eventId, outcome } = await service.workspaces.sendTestEvent(workspace.id);
    expect(outcome).toMatchObject({ $case: "poll", value: { polledWithinLastMinute } });
    return eventId;
  };
  const id = await expectPolled(false);
  expect((await poll(service.url, workspace)).json).toMatchObject({ events: [{ id, type: "ping" }] });
  await expectPolled(true);
  await due.polledEarlier(workspace.id, 60_001);
  await expectPolled(false);
});

// time: controlled
// contract: test-event
test.each([
  [60_000, true],
  [60_001, false],
])("a poll %i ms ago is within the last minute: %s", async (agoMs, polledWithinLastMinute) => {
  const now = 1_700_000_000_000;
  const context = {
    now: () => now,
    ids: { event: () => "evt_1" },
    workspaces: { read: async () => ({ workspace: { secrets: [] } }) },
    outboundEvents: { publish: async () => ({ outcome: "published", mode: "poll" }) },
    changeLog: { append: async () => undefined },
    onChanged: () => undefined,
    pollWatch: { health: async () => ({ lastPollAtMs: now - agoMs }) },
  } as unknown as TestEventContext;
  expect(await sendTestEvent(context, workspace.id)).toMatchObject({ polledWithinLastMinute });
});
