import { randomUUID } from "node:crypto";
import { nowSeconds, poll, send, signatureOf, type Answer } from "../harness/bridge";
import { expectRefusal } from "../harness/refusals";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";

const service = sharedService();
const workspace = freshWorkspace(service);

const TOLERANCE_SECONDS = 300;

/**
 * Fails unless the headers of a page contain the workspace id, and one signature per secret, in this order, over the
 * page's exact bytes and the current time.
 */
function expectSigned(answer: Answer, { id }: TestWorkspace, ...secrets: string[]): void {
  expect(answer.status).toBe(200);
  expect(answer.headers["service-workspace"]).toBe(id);
  const header = String(answer.headers["service-signature"]);
  const [, t = ""] = /^t=(\d+)(,v1=[0-9a-f]{64})+$/.exec(header) ?? [];
  expect(Math.abs(Number(t) - nowSeconds())).toBeLessThan(TOLERANCE_SECONDS);
  const entries = secrets.map((secret) => signatureOf(secret, answer.body, t).slice(`t=${t},`.length));
  expect(header).toBe([`t=${t}`, ...entries].join(","));
}

// time: smoke
// contract: poll-signed-response, signature-format, signature-hmac
describe("the headers of a page", () => {
  test("a page has headers with the workspace id, and with a signature over the page's exact bytes", async () => {
    expectSigned(await poll(service.url, workspace), workspace, workspace.secret);
    await publish(service.clients, textEvent(workspace.id, 'ünïcode 🎉 \u2028 "quoted" </script>'));
    for (const query of ["", "limit=1", "after=0", "after=latest"]) {
      expectSigned(await poll(service.url, workspace, query), workspace, workspace.secret);
    }
  });

  test("a page's header contains the workspace id in lower case, even if the URL of the poll contains the id in capitals", async () => {
    const asked = { ...workspace, id: workspace.id.toUpperCase() };
    expectSigned(await poll(service.url, asked), workspace, workspace.secret);
  });

  // contract: rotation-inbound, rotation-outbound
  test("a page has one signature for each active secret, newest first; a poll can be signed with any active secret", async () => {
    const { id, secret } = await service.workspaces.make();
    const secrets = [secret];
    for (let rotations = 1; rotations <= 3; rotations++) {
      secrets.unshift((await service.workspaces.rotate(id)).signingSecret);
      expect(new Set(secrets).size).toBe(rotations + 1);
      for (const each of secrets) {
        expectSigned(await poll(service.url, { id, secret: each }), { id, secret }, ...secrets);
      }
    }
  });
});

// contract: signature-query
test.each([
  ["", "", 200],
  ["?limit=1", "limit=1", 200],
  ["?limit=%31", "limit=%31", 200],
  ["?after=0&limit=1", "after=0&limit=1", 200],
  ["?&limit=1&", "&limit=1&", 200],
  ["?%6cimit=1", "%6cimit=1", 200],
  // Everything after the first question mark is part of the query string.
  ["?limit=1?after=0", "limit=1?after=0", 400],
  ["", "?", 401],
  ["", "limit=1", 401],
  ["?limit=1", "", 401],
  ["?limit=%31", "limit=1", 401],
  ["?limit=1&after=0", "after=0&limit=1", 401],
  ["?%6cimit=1", "%6Cimit=1", 401],
])(
  "a signature covers the query string exactly as sent: a poll of events%s with a signature over %j is answered with %i",
  async (rest, signed, status) => {
    const answer = await send(service.url, `/hooks/${workspace.id}/events${rest}`, {
      headers: { "Service-Signature": signatureOf(workspace.secret, signed) },
    });
    if (status === 200) expect(answer.status).toBe(200);
    else expectRefusal(answer, status, status === 400 ? "limit" : undefined);
  },
);

// time: smoke
// contract: check-5
test.each([
  ["ahead", () => nowSeconds() + 3_960, /is 66 minutes ahead of the service's clock, which says 20\S+Z;/],
  ["behind", () => nowSeconds() - 3_960, /is 66 minutes behind the service's clock, which says 20\S+Z;/],
  ["in milliseconds", () => Date.now(), /milliseconds.*sign with Unix seconds/],
])("a 409 answer to a POST or a poll says that the timestamp is %s", async (_what, at, words) => {
  const { id, secret } = await service.workspaces.make();
  const signed = (text: string) => ({ "Service-Signature": signatureOf(secret, text, at()) });
  const posted = { method: "POST", headers: signed("{}"), body: "{}" };
  const answers = [
    await send(service.url, `/hooks/${id}`, posted),
    await send(service.url, `/hooks/${id}/events`, { headers: signed("") }),
  ];
  for (const { json } of answers) {
    expect(json).toEqual({ statusCode: 409, message: expect.stringMatching(words), error: "Conflict" });
  }
});

// contract: poll-403, poll-order, check-3, check-5
test.each([
  ["poll", ""],
  ["push", "https://8.8.8.8/"],
])(
  "an invalid poll of a %s workspace is answered with the first of 404, 401, 409, 400 and 403 that applies",
  async (mode, url) => {
    const { workspaces } = service;
    const workspace = await workspaces.make({ targetUrl: url });
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
    await workspaces.disconnect(workspace.id);
    expectRefusal(await ask(signedAt(0)), 404);
  },
);
