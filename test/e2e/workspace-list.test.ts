import { randomUUID } from "node:crypto";
import { status } from "@grpc/grpc-js";
import {
  DeliveryResult,
  HealthState,
  ListWorkspacesRequest,
  WorkspaceOrder,
  WorkspaceState,
} from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { call, connectToCore, type CoreClients } from "../harness/core-clients";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { deliveryOf } from "../harness/push-queue";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { openTestStore, type TestStore } from "../harness/store";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const ANN = "token-of-ann-for-the-list";
const URL = "https://8.8.8.8/events";

const service = sharedService();
let core: TestProcess;
let clients: CoreClients;
let store: TestStore;
let failing: TestWorkspace;
let polled: TestWorkspace;
let unused: TestWorkspace;
let off: TestWorkspace;
let foreign: TestWorkspace;

// The shared service also contains workspaces of other tests, so these tests use a token that is limited to their own
// workspaces.
beforeAll(async () => {
  const { workspaces } = service;
  store = await openTestStore(service.redis.url);
  [failing, polled, unused, off, foreign] = await Promise.all([
    workspaces.make({ name: "failing", targetUrl: URL }),
    workspaces.make({ name: "polled" }),
    workspaces.make({ name: "unused" }),
    workspaces.make({ name: "off" }),
    workspaces.make({ name: "foreign", targetUrl: URL }),
  ]);
  await workspaces.disconnect(off.id);
  await poll(service.url, polled);
  const event = { eventId: "evt_1", eventType: "message.create" };
  for (const { id } of [failing, foreign]) {
    await store.deliveryLog.append(id, { ...deliveryOf(event, 1, "status"), status: 503 });
  }
  const ids = [failing, polled, unused, off].map(({ id }) => id).join("+");
  const all = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
  core = await startCore(service.redis.url, { CORE_TOKENS: [...all, `operator:ann@${ids}=${ANN}`].join() });
  clients = connectToCore(core.port);
});
afterAll(async () => {
  clients.close();
  await core.stop();
  await store.close();
});

const list = (request: Partial<ListWorkspacesRequest>, token: string | undefined = ANN) =>
  call(clients.workspaces, clients.workspaces.listWorkspaces, ListWorkspacesRequest.create(request), token);
const order = WorkspaceOrder.URGENCY;

test("ListWorkspaces lists workspaces with their summaries, in pages, and failing workspaces first", async () => {
  const first = await list({ order, pageSize: 3, summaries: true });
  expect(first.workspaces.map(({ name }) => name)).toEqual(["failing", "polled", "unused"]);
  expect(first.summaries.map(({ workspaceId }) => workspaceId)).toEqual(first.workspaces.map(({ id }) => id));
  expect(first.summaries).toMatchObject([
    {
      state: WorkspaceState.FAILING,
      lastPollAt: undefined,
      lastAttemptResult: DeliveryResult.STATUS,
      lastAttemptStatus: 503,
    },
    { state: WorkspaceState.HEALTHY, failingSince: undefined, lastAttemptAt: undefined },
    { state: WorkspaceState.UNUSED, lastPollAt: undefined, lastAttemptAt: undefined, lastHour: [] },
  ]);
  expect(first.summaries[0]?.failingSince).toEqual(first.summaries[0]?.lastAttemptAt);
  expect(first.summaries[1]?.lastPollAt).toBeInstanceOf(Date);
  const second = await list({ order, pageSize: 3, pageToken: first.nextPageToken });
  expect(second.workspaces.map(({ name }) => name)).toEqual(["off"]);
  expect([second.nextPageToken, second.summaries]).toEqual(["", []]);
});

test("ListWorkspaces can list only the workspaces with certain states", async () => {
  const states = [WorkspaceState.DISCONNECTED, WorkspaceState.FAILING];
  const { workspaces } = await list({ order, states });
  expect(workspaces.map(({ name }) => name)).toEqual(["failing", "off"]);
  expect((await list({ order, states: [WorkspaceState.DEGRADED] })).workspaces).toEqual([]);
  const all = await list({ order, pageSize: 1_000, states: [WorkspaceState.FAILING] }, TOKENS.operator);
  const names = all.workspaces.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["failing", "foreign"]));
  expect(names).not.toContain("unused");
});

test("GetWorkspace returns the same state as ListWorkspaces", async () => {
  const stateOf = async ({ id }: TestWorkspace) => (await service.workspaces.get(id)).health?.state;
  expect(await stateOf(failing)).toBe(HealthState.FAILING);
  expect(await stateOf(polled)).toBe(HealthState.HEALTHY);
  expect(await stateOf(unused)).toBe(HealthState.UNUSED);
});

test("when a limited token calls CountWorkspaces, only its own workspaces are counted", async () => {
  const count = async (token: string) => {
    const answer = await call(clients.workspaces, clients.workspaces.countWorkspaces, {}, token);
    return new Map(answer.counts.map((each) => [each.state, each.count]));
  };
  const counts = await count(ANN);
  expect(Object.fromEntries(counts)).toEqual({
    [WorkspaceState.FAILING]: 1,
    [WorkspaceState.DEGRADED]: 0,
    [WorkspaceState.RECOVERED]: 0,
    [WorkspaceState.IDLE]: 0,
    [WorkspaceState.HEALTHY]: 1,
    [WorkspaceState.UNUSED]: 1,
    [WorkspaceState.DISCONNECTED]: 1,
    [WorkspaceState.NATIVE]: 0,
  });
  expect((await count(TOKENS.operator)).get(WorkspaceState.FAILING)).toBeGreaterThan(1);
});

test("SummarizeWorkspaces omits workspaces that do not exist or that the caller may not see", async () => {
  const workspaceIds = [foreign.id, unused.id.toUpperCase(), randomUUID(), "no id", failing.id];
  const answer = await call(
    clients.workspaces,
    clients.workspaces.summarizeWorkspaces,
    { workspaceIds },
    ANN,
  );
  expect(answer.workspaces.map(({ name }) => name)).toEqual(["unused", "failing"]);
  expect(answer.summaries.map(({ workspaceId }) => workspaceId)).toEqual([unused.id, failing.id]);
  const many = { workspaceIds: Array.from({ length: 101 }, () => unused.id) };
  const calling = call(clients.workspaces, clients.workspaces.summarizeWorkspaces, many, ANN);
  await expectRejected(calling, status.INVALID_ARGUMENT, "workspace_ids must have at most 100 ids");
});

test("a workspace's summary counts the polls of the last hour", async () => {
  const counted = await service.workspaces.make({ name: "counted" });
  for (let polls = 0; polls < 3; polls++) await poll(service.url, counted);
  const total = await until("the polls are counted", async () => {
    const { summaries } = await call(clients.workspaces, clients.workspaces.summarizeWorkspaces, {
      workspaceIds: [counted.id],
    });
    const sum = summaries[0]?.lastHour.reduce((polls, period) => polls + period.polls, 0);
    return sum === 3 ? sum : undefined;
  });
  expect(total).toBe(3);
});

test.each<[string, Partial<ListWorkspacesRequest>, RegExp]>([
  ["a page token of the other order", { order, pageToken: `1700000000000:${randomUUID()}` }, /^page_token/],
  ["states without the order", { states: [WorkspaceState.FAILING] }, /^states needs the order/],
  ["an unknown state", { order, states: [99 as WorkspaceState] }, /^states contains/],
  ["an unknown order", { order: 99 as WorkspaceOrder }, /^order is not/],
])("ListWorkspaces rejects %s", async (_what, request, words) => {
  await expectRejected(list(request), status.INVALID_ARGUMENT, words);
});
