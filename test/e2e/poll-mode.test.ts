import { randomUUID } from "node:crypto";
import { ListDeliveriesRequest, Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, poll, send, signatureOf } from "../harness/bridge";
import { published } from "../harness/contents";
import { expectRefusal } from "../harness/refusals";
import { call, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { openTestStore, texts } from "../harness/store";
import { until } from "../harness/wait";

/** Nothing listens there, and nothing leaves the machine. */
const TARGET_URL = "https://127.0.0.1:1/";

const service = sharedService();
const { setTargetUrl, disconnect, connect } = service.workspaces;
let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await service.workspaces.make();
});

const publishText = async (text: string) =>
  published((await publish(service.clients, textEvent(workspace.id, text)))[0]);

/** Publishes to a push workspace and waits for the first attempt, before which a change to polling would have it held. */
async function pushText(text: string): Promise<void> {
  const { eventId } = await publishText(text);
  const { workspaces } = service.clients;
  const request = ListDeliveriesRequest.create({ workspaceId: workspace.id });
  await until("a push is attempted", async () => {
    const { deliveries } = await call(workspaces, workspaces.listDeliveries, request);
    return deliveries.some((delivery) => delivery.eventId === eventId);
  });
}

interface Page {
  readonly events: readonly { readonly sequence: number; readonly message: { readonly text: string } }[];
  readonly next: string;
}

async function page(query = "", of = workspace): Promise<Page> {
  const answer = await poll(service.url, of, query);
  expect(answer.status).toBe(200);
  return answer.json as Page;
}
const textsOf = ({ events }: Page) => events.map(({ message }) => message.text);

/** Fails unless a poll is answered as one of a workspace that never existed. */
async function expectUnknown(): Promise<void> {
  const gone = await poll(service.url, workspace);
  const unknown = await poll(service.url, { ...workspace, id: randomUUID() });
  expectRefusal(gone, 404);
  expect(gone.body.equals(unknown.body)).toBe(true);
  expect(gone.headers["service-workspace"]).toBeUndefined();
}

// contract: poll-403, poll-order
test("a poll of a push workspace is answered 403, after 404, 401, 409 and 400", async () => {
  await setTargetUrl(workspace.id, TARGET_URL);
  for (const query of ["", "limit=1", "after=latest"]) {
    expectRefusal(await poll(service.url, workspace, query), 403);
  }
  const ask = (signature?: string) =>
    send(service.url, `/hooks/${workspace.id}/events?limit=0`, {
      headers: signature === undefined ? {} : { "Service-Signature": signature },
    });
  const { secret } = workspace;
  expectRefusal(await ask(), 401);
  expectRefusal(await ask(signatureOf("wrong", "limit=0")), 401);
  expectRefusal(await ask(signatureOf(secret, "limit=0", nowSeconds() - 400)), 409);
  expectRefusal(await ask(signatureOf(secret, "limit=0")), 400, "limit");
  await disconnect(workspace.id);
  expectRefusal(await ask(signatureOf(secret, "limit=0")), 404);
});

// contract: mode-to-push, mode-to-poll
test("from poll to push and back: held events stay held, pushed ones are not held, and cursors stay valid", async () => {
  await publishText("held 1");
  await publishText("held 2");
  const { next } = await page("limit=1");

  await setTargetUrl(workspace.id, TARGET_URL);
  expectRefusal(await poll(service.url, workspace, `after=${next}`), 403);
  await pushText("pushed");

  await setTargetUrl(workspace.id, "");
  await publishText("held 3");
  expect(textsOf(await page())).toEqual(["held 1", "held 2", "held 3"]);
  const after = await page(`after=${next}`);
  expect(textsOf(after)).toEqual(["held 2", "held 3"]);
  expect(after).toMatchObject({ gap: false, hasMore: false });
  const sequences = after.events.map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
});

// contract: poll-latest
test("a workspace that has only pushed events has the latest cursor 0", async () => {
  await setTargetUrl(workspace.id, TARGET_URL);
  await pushText("pushed");
  await setTargetUrl(workspace.id, "");
  expect(await page("after=latest")).toEqual({ events: [], next: "0", hasMore: false, gap: false });
});

// contract: check-3
test("a disconnected workspace is answered as an unknown one, and its held events are kept for its return", async () => {
  await publishText("held");
  await disconnect(workspace.id);
  await expectUnknown();
  const { signingSecret } = await connect(workspace.id);
  expectRefusal(await poll(service.url, workspace), 401);
  expect(textsOf(await page("", { ...workspace, secret: signingSecret }))).toEqual(["held"]);
});

test("a deleted workspace is answered as an unknown one, and nothing of it is kept", async () => {
  await publishText("held");
  expect(textsOf(await page())).toEqual(["held"]);
  await service.workspaces.delete(workspace.id);
  await expectUnknown();
  const store = await openTestStore(service.redis.url);
  expect(await texts(store, "KEYS", `*${workspace.id}*`)).toEqual([]);
  await store.close();
});

test("a workspace of a native platform has no hooks", async () => {
  const native = await service.workspaces.make({ platform: Platform.NATIVE });
  expectRefusal(await poll(service.url, { id: native.id, secret: "" }), 404);
});
