import {
  GetWorkspaceRequest,
  SendTestEventRequest,
  SetTargetUrlRequest,
  WatchWorkspaceRequest,
  type PollHealth,
  type WatchWorkspaceResponse,
} from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { openPollDue, type PollDue } from "../harness/poll-due";
import { TOKENS } from "../harness/processes";
import { bearer, call, createWorkspace, publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const FIVE_MINUTES_MS = 5 * 60 * 1000;

const service = sharedService();
let due: PollDue;
beforeAll(async () => {
  due = await openPollDue(service.redis);
});
afterAll(async () => {
  await due.close();
});

async function health(workspaceId: string): Promise<PollHealth> {
  const { workspaces } = service.clients;
  const read = await call(workspaces, workspaces.getWorkspace, GetWorkspaceRequest.create({ workspaceId }));
  if (read.health?.mode?.$case !== "poll") throw new Error("not the health of a poll workspace");
  return read.health.mode.value;
}

function failing(workspaceId: string): Promise<boolean> {
  return until("it fails", async () => (await health(workspaceId)).failing);
}

test("a workspace where nothing waits is healthy and never comes to fail", async () => {
  const workspace = await createWorkspace(service.clients);
  await poll(service.url, workspace);
  expect(await due.of(workspace.id)).toBeUndefined();
  expect(await health(workspace.id)).toMatchObject({ failing: false, waiting: 0 });
});

// contract: health-failing
test("it fails when events wait 5 minutes without a poll, from the oldest event that waits", async () => {
  const workspace = await createWorkspace(service.clients);
  const before = Date.now();
  await publish(service.clients, textEvent(workspace.id, "one"));
  const after = Date.now();
  const dueAt = (await due.of(workspace.id)) ?? 0;
  await publish(service.clients, textEvent(workspace.id, "two"));
  expect(dueAt).toBeGreaterThanOrEqual(before + FIVE_MINUTES_MS);
  expect(dueAt).toBeLessThanOrEqual(after + FIVE_MINUTES_MS + 1);
  expect(await due.of(workspace.id)).toBe(dueAt);
  expect(await health(workspace.id)).toMatchObject({ failing: false, waiting: 2 });
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await failing(workspace.id);
  expect(await health(workspace.id)).toMatchObject({ failing: true, waiting: 2 });
});

// contract: health-healthy
test("a poll makes it healthy; the minutes run anew from the last poll while events still wait", async () => {
  const workspace = await createWorkspace(service.clients);
  await publish(service.clients, textEvent(workspace.id, "one"), textEvent(workspace.id, "two"));
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await failing(workspace.id);
  const before = Date.now();
  await poll(service.url, workspace, "limit=1");
  expect(await health(workspace.id)).toMatchObject({ failing: false, waiting: 1 });
  expect(await due.of(workspace.id)).toBeGreaterThanOrEqual(before + FIVE_MINUTES_MS - 1);
  await poll(service.url, workspace);
  expect(await health(workspace.id)).toMatchObject({ failing: false, waiting: 0 });
  expect(await due.of(workspace.id)).toBeUndefined();
});

test.each(["after=latest", "after=999999999999999999"])(
  "a poll with %s leaves nothing waiting",
  async (query) => {
    const workspace = await createWorkspace(service.clients);
    await publish(service.clients, textEvent(workspace.id, "one"));
    await poll(service.url, workspace, query);
    expect(await health(workspace.id)).toMatchObject({ waiting: 0 });
    await publish(service.clients, textEvent(workspace.id, "two"));
    expect(await health(workspace.id)).toMatchObject({ waiting: 1 });
  },
);

test("a refused poll is no poll: the workspace stays failing", async () => {
  const workspace = await createWorkspace(service.clients);
  await publish(service.clients, textEvent(workspace.id, "one"));
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await failing(workspace.id);
  expect((await poll(service.url, workspace, "limit=0")).status).toBe(400);
  expect((await poll(service.url, { ...workspace, secret: "wrong" })).status).toBe(401);
  expect((await health(workspace.id)).failing).toBe(true);
});

test("a target URL ends the outage; events that wait when it is cleared have five minutes again", async () => {
  const workspace = await createWorkspace(service.clients);
  const { workspaces } = service.clients;
  const setUrl = (targetUrl: string) =>
    call(
      workspaces,
      workspaces.setTargetUrl,
      SetTargetUrlRequest.create({ workspaceId: workspace.id, targetUrl }),
    );
  await publish(service.clients, textEvent(workspace.id, "one"));
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await failing(workspace.id);
  await setUrl("https://93.184.215.14/");
  expect(await due.of(workspace.id)).toBeUndefined();
  const before = Date.now();
  await setUrl("");
  expect(await health(workspace.id)).toMatchObject({ failing: false, waiting: 1 });
  expect(await due.of(workspace.id)).toBeGreaterThanOrEqual(before + FIVE_MINUTES_MS - 1);
});

// contract: test-event
test("a test event on a poll workspace is held, and says whether the bridge polled within the last minute", async () => {
  const workspace = await createWorkspace(service.clients);
  const { workspaces } = service.clients;
  const sendTest = () =>
    call(workspaces, workspaces.sendTestEvent, SendTestEventRequest.create({ workspaceId: workspace.id }));
  const before = await sendTest();
  expect(before.outcome).toMatchObject({ $case: "poll", value: { polledWithinLastMinute: false } });
  const page = await poll(service.url, workspace);
  expect(page.json).toMatchObject({ events: [{ id: before.eventId, type: "ping" }] });
  const saysPolled = async (is: boolean): Promise<void> => {
    const { outcome } = await sendTest();
    expect(outcome).toMatchObject({ $case: "poll", value: { polledWithinLastMinute: is } });
  };
  await saysPolled(true);
  await due.polledEarlier(workspace.id, 45_000);
  await saysPolled(true);
  await due.polledEarlier(workspace.id, 15_001);
  await saysPolled(false);
});

// contract: poll-is-delivery
test("WatchWorkspace tells the health at once, then every poll and every change of health", async () => {
  const workspace = await createWorkspace(service.clients);
  const { workspaces } = service.clients;
  const seen: WatchWorkspaceResponse[] = [];
  const stream = workspaces.watchWorkspace(
    WatchWorkspaceRequest.create({ workspaceId: workspace.id }),
    bearer(TOKENS.operator),
  );
  stream.on("data", (response: WatchWorkspaceResponse) => seen.push(response));
  stream.on("error", () => undefined);
  const healths = () =>
    seen.flatMap(({ change }) => (change?.$case === "health" ? [change.value.mode?.value] : []));
  const deliveries = () => seen.flatMap(({ change }) => (change?.$case === "delivery" ? [change.value] : []));
  await until("the health at once", () => healths().length === 1);
  await publish(service.clients, textEvent(workspace.id, "one"));
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await until("it fails", () =>
    healths().some((each) => each !== undefined && "failing" in each && each.failing),
  );
  await poll(service.url, workspace);
  await until("the poll", () => deliveries().length === 1);
  expect(deliveries()[0]).toMatchObject({ eventType: "poll", attempt: 0 });
  await until("healthy again", () => {
    const last = healths().at(-1);
    return last !== undefined && "failing" in last && !last.failing && last.waiting === 0;
  });
  stream.cancel();
});
