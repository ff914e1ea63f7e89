import { randomUUID } from "node:crypto";
import { Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, poll, post, send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import type { TestWorkspace } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";

const service = sharedService();
const workspace = freshWorkspace(service);

const EVENT = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
const LONG_AGO = nowSeconds() - 3_600;

/**
 * Bodies that pass or fail checks 1 and 7 of docs/checks.md. Checks 2 and 6, the request limits, are tested in
 * inbound-limits.test.ts.
 */
const BODIES = {
  good: JSON.stringify(EVENT),
  invalid: JSON.stringify({ ...EVENT, user: {} }), // check 7
  "not JSON": '{"type":', // check 1
  "too large": JSON.stringify({ ...EVENT, text: "x".repeat(65_536) }), // check 1
  "too large and not JSON": "x".repeat(65_537),
};

// contract: order
test.each<[keyof typeof BODIES, "known" | "unknown", "right" | "wrong", "now" | "long ago", number]>([
  ["good", "known", "right", "now", 202],
  ["too large and not JSON", "known", "right", "now", 413],
  ["not JSON", "unknown", "right", "now", 400],
  ["too large", "unknown", "right", "now", 413],
  ["not JSON", "known", "wrong", "now", 400],
  ["too large", "known", "wrong", "now", 413],
  ["not JSON", "known", "right", "long ago", 400],
  ["too large", "known", "right", "long ago", 413],
  ["invalid", "unknown", "right", "now", 404],
  ["good", "known", "wrong", "long ago", 401],
  ["invalid", "known", "wrong", "now", 401],
  ["invalid", "known", "right", "long ago", 409],
  ["invalid", "known", "right", "now", 400],
  ["invalid", "unknown", "wrong", "long ago", 404],
])(
  "a body that is %s, for a workspace that is %s, with a signature that is %s and made %s, is answered with %i",
  async (bodyIs, workspaceIs, signatureIs, made, status) => {
    const body = BODIES[bodyIs];
    const id = workspaceIs === "known" ? workspace.id : randomUUID();
    const secret = signatureIs === "right" ? workspace.secret : "another secret";
    const signature = signatureOf(secret, body, made === "now" ? nowSeconds() : LONG_AGO);
    const answer = await post(service.url, { id, secret }, body, {
      headers: { "Service-Signature": signature },
    });
    if (status === 202) expect([answer.status, answer.body.toString()]).toEqual([202, '{"ok":true}']);
    else expectRefusal(answer, status, bodyIs === "invalid" && status === 400 ? "user.id" : undefined);
  },
);

// The format, the entries and the age of the signature header are tested in test/unit/signature.test.ts.
// contract: check-4
test.each<[string, (right: string) => string | string[] | undefined]>([
  ["is missing", () => undefined],
  ["is empty", () => ""],
  ["has no timestamp", (right) => right.replace(/^t=\d+,/, "")],
  ["is wrong", (right) => right.replace(/v1=.*/, `v1=${"0".repeat(64)}`)],
  ["is for another timestamp", (right) => right.replace(/\d+/, (t) => String(Number(t) - 1))],
  ["is sent in two headers", (right) => [right, right]],
])("a POST whose signature %s is answered with 401", async (_what, headerOf) => {
  const signature = headerOf(signatureOf(workspace.secret, BODIES.good));
  const headers = signature === undefined ? {} : { "Service-Signature": signature };
  const request = { method: "POST", body: BODIES.good, headers };
  expectRefusal(await send(service.url, `/hooks/${workspace.id}`, request), 401);
});

// contract: post-raw-bytes
test("a signature is valid only for the exact bytes of the body, and only with the workspace's secret", async () => {
  const { secret } = workspace;
  const body = '{ "type": "command", "channel": "c1", "user": {"id": "u1"}, "text": "Ünï 🎲" }';
  const other = await service.workspaces.make();
  const postSigned = (signature: string) =>
    post(service.url, workspace, body, { headers: { "Service-Signature": signature } });
  expect((await postSigned(signatureOf(secret, body))).status).toBe(202);
  expectRefusal(await postSigned(signatureOf(secret, JSON.stringify(JSON.parse(body)))), 401);
  expectRefusal(await postSigned(signatureOf(secret, `${body}\n`)), 401);
  expectRefusal(await postSigned(signatureOf(other.secret, body)), 401);
});

// contract: check-3, post-path
test("requests to an unknown, native, disconnected or deleted workspace all get the same 404 answer, byte for byte", async () => {
  const { workspaces } = service;
  const [disconnected, deleted] = [await workspaces.make(), await workspaces.make()];
  // Posts an event to both workspaces first, so that core caches their records. If core still used a cached record
  // after the workspace was disconnected or deleted, the answer would not be 404.
  for (const each of [disconnected, deleted]) expect((await post(service.url, each, EVENT)).status).toBe(202);
  await workspaces.disconnect(disconnected.id);
  await workspaces.delete(deleted.id);
  const { secret } = workspace;
  const native = await workspaces.make({ platform: Platform.NATIVE });
  const unreachable: TestWorkspace[] = [
    ...[randomUUID(), "not-a-uuid", "x".repeat(2_000), workspace.id.slice(1)].map((id) => ({ id, secret })),
    { id: workspace.id.replaceAll("-", ""), secret },
    { ...native, secret },
    disconnected,
    deleted,
  ];
  const answers = new Set<string>();
  for (const each of unreachable) {
    const signed = await post(service.url, each, EVENT);
    const unsigned = await send(service.url, `/hooks/${each.id}`, { method: "POST", body: "{}" });
    for (const answer of [signed, unsigned, await poll(service.url, each)]) {
      expectRefusal(answer, 404);
      const { date: _date, ...headers } = answer.headers;
      answers.add(JSON.stringify({ headers, body: answer.body.toString("latin1") }));
    }
  }
  expect(answers.size).toBe(1);
});

test("a POST is accepted for a push workspace, and the workspace id can be in any letter case", async () => {
  // No event is published to this workspace, so core pushes nothing.
  const push = await service.workspaces.make({ targetUrl: "https://8.8.8.8/" });
  for (const each of [{ ...workspace, id: workspace.id.toUpperCase() }, push]) {
    expect((await post(service.url, each, EVENT)).status).toBe(202);
  }
});

test("the requests in this file cause no logged error, and no secret or signature in them is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", "another secret"]);
});
