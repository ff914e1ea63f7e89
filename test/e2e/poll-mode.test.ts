import { randomUUID } from "node:crypto";
import { Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, poll, send, signatureOf } from "../harness/bridge";
import { expectRefusal } from "../harness/refusals";
import { publish, textEvent } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { openTestStore, texts } from "../harness/store";

/** Nothing listens there, and nothing leaves the machine. */
const TARGET_URL = "https://127.0.0.1:1/";

const service = sharedService();
const workspace = freshWorkspace(service, beforeEach);
const { setTargetUrl, disconnect, connect } = service.workspaces;

const publishText = (text: string) => publish(service.clients, textEvent(workspace.id, text));

async function heldTexts(of = workspace) {
  const answer = await poll(service.url, of);
  expect(answer.status).toBe(200);
  return (answer.json as { events: { message: { text: string } }[] }).events.map(
    ({ message }) => message.text,
  );
}

/** Fails unless a poll is answered as one of a workspace that never existed. */
async function expectUnknown(): Promise<void> {
  const gone = await poll(service.url, workspace);
  const unknown = await poll(service.url, { ...workspace, id: randomUUID() });
  expectRefusal(gone, 404);
  expect(gone.body.equals(unknown.body)).toBe(true);
  expect(gone.headers["service-workspace"]).toBeUndefined();
}

// time: smoke
// contract: poll-403, poll-order, check-3, check-5
test.each([
  ["poll", ""],
  ["push", TARGET_URL],
])(
  "a poll of a %s workspace is checked for 404, 401, 409 and 400, in this order, and then for 403",
  async (mode, url) => {
    await setTargetUrl(workspace.id, url);
    const ask = (signature?: string, id = workspace.id) =>
      send(service.url, `/hooks/${id}/events?limit=0`, {
        headers: signature === undefined ? {} : { "Service-Signature": signature },
      });
    const signedAt = (offSeconds: number) =>
      signatureOf(workspace.secret, "limit=0", nowSeconds() + offSeconds);
    for (const id of [randomUUID(), "not-a-uuid"]) {
      for (const signature of [undefined, signedAt(0)]) expectRefusal(await ask(signature, id), 404);
    }
    for (const signature of [undefined, "t=1", signatureOf("wrong", "limit=0")]) {
      expectRefusal(await ask(signature), 401);
    }
    for (const off of [-400, 400]) expectRefusal(await ask(signedAt(off)), 409);
    for (const off of [-200, 200]) expectRefusal(await ask(signedAt(off)), 400, "limit");
    for (const query of ["", "limit=1", "after=latest"]) {
      const answer = await poll(service.url, workspace, query);
      if (mode === "push") expectRefusal(answer, 403);
      else expect(answer.status).toBe(200);
    }
    await disconnect(workspace.id);
    expectRefusal(await ask(signedAt(0)), 404);
  },
);

// contract: check-3
test("a disconnected workspace is answered as an unknown one, and its held events are kept for its return", async () => {
  await publishText("held");
  await disconnect(workspace.id);
  await expectUnknown();
  const { signingSecret } = await connect(workspace.id);
  expectRefusal(await poll(service.url, workspace), 401);
  expect(await heldTexts({ ...workspace, secret: signingSecret })).toEqual(["held"]);
});

test("a deleted workspace is answered as an unknown one, and nothing of it is kept", async () => {
  await publishText("held");
  expect(await heldTexts()).toEqual(["held"]);
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
