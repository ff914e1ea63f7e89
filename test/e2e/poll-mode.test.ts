import { randomUUID } from "node:crypto";
import {
  ConnectWorkspaceRequest,
  DeleteWorkspaceRequest,
  DisconnectWorkspaceRequest,
  ListDeliveriesRequest,
  SetTargetUrlRequest,
} from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, poll, send, signatureOf } from "../harness/bridge";
import {
  call,
  createWorkspace,
  publish,
  startService,
  textEvent,
  type TestService,
  type TestWorkspace,
} from "../harness/service";
import { openTestStore, texts } from "../harness/store";
import { until } from "../harness/wait";

/** Nothing listens there, and nothing leaves the machine. */
const TARGET_URL = "https://127.0.0.1:1/";

let service: TestService;
beforeAll(async () => {
  service = await startService({ core: { PUSH_ALLOW: "127.0.0.0/8" } });
});
afterAll(() => service.close());

async function setTargetUrl({ id }: TestWorkspace, targetUrl: string): Promise<void> {
  const { workspaces } = service.clients;
  await call(workspaces, workspaces.setTargetUrl, SetTargetUrlRequest.create({ workspaceId: id, targetUrl }));
}

async function disconnect({ id }: TestWorkspace): Promise<void> {
  const { workspaces } = service.clients;
  const request = DisconnectWorkspaceRequest.create({ workspaceId: id });
  await call(workspaces, workspaces.disconnectWorkspace, request);
}

async function connect({ id }: TestWorkspace): Promise<TestWorkspace> {
  const { workspaces } = service.clients;
  const request = ConnectWorkspaceRequest.create({ workspaceId: id });
  const { signingSecret } = await call(workspaces, workspaces.connectWorkspace, request);
  return { id, secret: signingSecret };
}

async function publishText({ id }: TestWorkspace, text: string): Promise<string> {
  const [result] = await publish(service.clients, textEvent(id, text));
  return result?.outcome?.$case === "published" ? "published" : String(result?.outcome?.value.reason);
}

/** Publishes to a push workspace and waits for the first attempt, before which a change to polling would have it held. */
async function pushText(workspace: TestWorkspace, text: string): Promise<void> {
  expect(await publishText(workspace, text)).toBe("published");
  const { workspaces } = service.clients;
  const request = ListDeliveriesRequest.create({ workspaceId: workspace.id });
  await until("a push is attempted", async () => {
    const { deliveries } = await call(workspaces, workspaces.listDeliveries, request);
    return deliveries.some(({ eventId }) => eventId !== "");
  });
}

async function textsHeld(workspace: TestWorkspace, query = ""): Promise<readonly string[]> {
  const answer = await poll(service.url, workspace, query);
  expect(answer.status).toBe(200);
  const { events } = answer.json as { events: readonly { message: { text: string } }[] };
  return events.map(({ message }) => message.text);
}

describe("polls of a push workspace", () => {
  // contract: poll-403
  test("are answered 403", async () => {
    const workspace = await createWorkspace(service.clients, { targetUrl: TARGET_URL });
    for (const query of ["", "limit=1", "after=latest"]) {
      const answer = await poll(service.url, workspace, query);
      expect([answer.status, answer.json]).toEqual([
        403,
        { statusCode: 403, error: "Forbidden", message: expect.any(String) },
      ]);
    }
  });

  // contract: poll-order
  test("fail by the earlier checks first: 404, 401, 409, then 400", async () => {
    const workspace = await createWorkspace(service.clients, { targetUrl: TARGET_URL });
    const path = `/hooks/${workspace.id}/events?limit=0`;
    const signed = (secret: string, t: number) => ({
      headers: { "Service-Signature": signatureOf(secret, "limit=0", t) },
    });
    expect((await send(service.url, path)).status).toBe(401);
    expect((await send(service.url, path, signed("wrong", nowSeconds()))).status).toBe(401);
    expect((await send(service.url, path, signed(workspace.secret, nowSeconds() - 400))).status).toBe(409);
    const invalid = await send(service.url, path, signed(workspace.secret, nowSeconds()));
    expect(invalid).toMatchObject({ status: 400, json: { field: "limit" } });
    await disconnect(workspace);
    expect((await send(service.url, path, signed(workspace.secret, nowSeconds()))).status).toBe(404);
  });
});

// contract: mode-to-push, mode-to-poll
test("from poll to push and back, what was held is held, what was pushed is not, and cursors go on", async () => {
  const workspace = await createWorkspace(service.clients);
  await publishText(workspace, "held 1");
  await publishText(workspace, "held 2");
  const first = await poll(service.url, workspace, "limit=1");
  const { next } = first.json as { next: string };

  await setTargetUrl(workspace, TARGET_URL);
  expect((await poll(service.url, workspace, `after=${next}`)).status).toBe(403);
  await pushText(workspace, "pushed");

  await setTargetUrl(workspace, "");
  await publishText(workspace, "held 3");
  expect(await textsHeld(workspace)).toEqual(["held 1", "held 2", "held 3"]);
  expect(await textsHeld(workspace, `after=${next}`)).toEqual(["held 2", "held 3"]);
  const after = await poll(service.url, workspace, `after=${next}`);
  expect(after.json).toMatchObject({ gap: false, hasMore: false });
  const sequences = (after.json as { events: readonly { sequence: number }[] }).events.map((e) => e.sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
});

// contract: poll-latest
test("a workspace that never held an event in poll mode has the latest cursor 0, pushed ones notwithstanding", async () => {
  const workspace = await createWorkspace(service.clients, { targetUrl: TARGET_URL });
  await pushText(workspace, "pushed");
  await setTargetUrl(workspace, "");
  const latest = await poll(service.url, workspace, "after=latest");
  expect(latest.json).toEqual({ events: [], next: "0", hasMore: false, gap: false });
});

// contract: check-3
test("a disconnected workspace is answered like one that is not there, and its held events wait for it", async () => {
  const workspace = await createWorkspace(service.clients);
  await publishText(workspace, "held");
  await disconnect(workspace);
  const gone = await poll(service.url, workspace);
  const unknown = await poll(service.url, { id: randomUUID(), secret: workspace.secret });
  expect(gone.status).toBe(404);
  expect(gone.body.equals(unknown.body)).toBe(true);
  expect(gone.headers["service-workspace"]).toBeUndefined();

  const again = await connect(workspace);
  expect((await poll(service.url, workspace)).status).toBe(401);
  expect(await textsHeld(again)).toEqual(["held"]);
});

test("a deleted workspace is not there, and nothing of it is held", async () => {
  const workspace = await createWorkspace(service.clients);
  await publishText(workspace, "held");
  expect(await textsHeld(workspace)).toEqual(["held"]);
  const { workspaces } = service.clients;
  const request = DeleteWorkspaceRequest.create({ workspaceId: workspace.id });
  await call(workspaces, workspaces.deleteWorkspace, request);
  const gone = await poll(service.url, workspace);
  const unknown = await poll(service.url, { id: randomUUID(), secret: workspace.secret });
  expect(gone.status).toBe(404);
  expect(gone.body.equals(unknown.body)).toBe(true);
  const store = await openTestStore(service.redis.url);
  expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
  await store.close();
});

test("a workspace of a native platform has no hooks", async () => {
  const { id } = await createWorkspace(service.clients, { platform: 2 });
  expect((await poll(service.url, { id, secret: "" })).status).toBe(404);
});
