import { randomUUID } from "node:crypto";
import {
  ConnectWorkspaceRequest,
  DeleteWorkspaceRequest,
  DisconnectWorkspaceRequest,
  Platform,
} from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, post, send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import { call, createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const EVENT = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
const LONG_AGO = nowSeconds() - 3_600;

/** How a request fails each check that one request can fail at will; the limits have tests of their own. */
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
  ["good", "unknown", "wrong", "now", 404],
  ["good", "unknown", "right", "long ago", 404],
  ["invalid", "unknown", "right", "now", 404],
  ["good", "known", "wrong", "long ago", 401],
  ["invalid", "known", "wrong", "now", 401],
  ["invalid", "known", "right", "long ago", 409],
  ["invalid", "known", "right", "now", 400],
  ["not JSON", "unknown", "wrong", "long ago", 400],
  ["invalid", "unknown", "wrong", "long ago", 404],
])(
  "a body that is %s, to a workspace that is %s, with a signature that is %s, made %s: %i",
  async (bodyIs, workspaceIs, signatureIs, made, status) => {
    const body = BODIES[bodyIs];
    const answer = await send(
      service.url,
      `/hooks/${workspaceIs === "known" ? workspace.id : randomUUID()}`,
      {
        method: "POST",
        body,
        headers: {
          "Service-Signature": signatureOf(
            signatureIs === "right" ? workspace.secret : "another secret",
            body,
            made === "now" ? nowSeconds() : LONG_AGO,
          ),
        },
      },
    );
    if (status === 202) expect([answer.status, answer.body.toString()]).toEqual([202, '{"ok":true}']);
    else expectRefusal(answer, status, bodyIs === "invalid" && status === 400 ? "user.id" : undefined);
  },
);

// contract: check-3, post-path
test("every workspace that cannot be reached is answered 404 with the very same bytes, whatever the reason", async () => {
  const { clients } = service;
  const { workspaces } = clients;
  const disconnected = await createWorkspace(clients);
  const deleted = await createWorkspace(clients);
  const native = await createWorkspace(clients, { platform: Platform.NATIVE });
  // Each was served before, so that nothing remembered from then can answer for it.
  for (const each of [disconnected, deleted]) expect((await post(service.url, each, EVENT)).status).toBe(202);
  await call(
    workspaces,
    workspaces.disconnectWorkspace,
    DisconnectWorkspaceRequest.create({ workspaceId: disconnected.id }),
  );
  await call(
    workspaces,
    workspaces.deleteWorkspace,
    DeleteWorkspaceRequest.create({ workspaceId: deleted.id }),
  );
  const { secret } = workspace;
  const unreachable: TestWorkspace[] = [
    { id: randomUUID(), secret },
    { id: "not-a-uuid", secret },
    { id: "x".repeat(2_000), secret },
    { id: `${workspace.id}0`, secret },
    { id: workspace.id.slice(1), secret },
    { id: workspace.id.replaceAll("-", ""), secret },
    { id: `%7B${workspace.id}%7D`, secret },
    { ...native, secret },
    disconnected,
    deleted,
  ];
  const answers = [];
  for (const each of unreachable) {
    const signed = await post(service.url, each, EVENT);
    const unsigned = await send(service.url, `/hooks/${each.id}`, { method: "POST", body: "{}" });
    for (const answer of [signed, unsigned]) {
      expectRefusal(answer, 404);
      const { date: _date, ...headers } = answer.headers;
      answers.push(JSON.stringify({ headers, body: answer.body.toString("latin1") }));
    }
  }
  expect(new Set(answers).size).toBe(1);
});

test("a workspace that is connected again is served again, under its new secret alone", async () => {
  const { workspaces } = service.clients;
  const before = await createWorkspace(service.clients);
  expect((await post(service.url, before, EVENT)).status).toBe(202);
  await call(
    workspaces,
    workspaces.disconnectWorkspace,
    DisconnectWorkspaceRequest.create({ workspaceId: before.id }),
  );
  expectRefusal(await post(service.url, before, EVENT), 404);
  const { signingSecret } = await call(
    workspaces,
    workspaces.connectWorkspace,
    ConnectWorkspaceRequest.create({ workspaceId: before.id }),
  );
  expect((await post(service.url, { id: before.id, secret: signingSecret }, EVENT)).status).toBe(202);
  expectRefusal(await post(service.url, before, EVENT), 401);
});

test("the workspace id may be in any letter case", async () => {
  const upper = { ...workspace, id: workspace.id.toUpperCase() };
  const body = JSON.stringify({ ...EVENT, id: "in capitals" });
  expect((await post(service.url, upper, body)).status).toBe(202);
});

test("a push workspace is served as a poll workspace is", async () => {
  // Nothing is published to it, so nothing is pushed.
  const push = await createWorkspace(service.clients, { targetUrl: "https://8.8.8.8/" });
  expect((await post(service.url, push, EVENT)).status).toBe(202);
});

test("nothing of all that is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", "another secret"]);
});
