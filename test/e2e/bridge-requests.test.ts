import { createHmac, randomUUID } from "node:crypto";
import { REQUEST_WORDS, CAUSE_WORDS } from "../../proto/codes";
import type { RequestKind, SignatureCause } from "../../contract/requests";
import type { BridgeRequests, RefusedRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { bearer } from "../../runtime/core-channel";
import { call } from "../harness/core-clients";
import { nowSeconds, poll, post, send, signatureOf } from "../harness/bridge";
import { startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import {
  createWorkspace,
  startService,
  withCore,
  type TestService,
  type TestWorkspace,
} from "../harness/service";
import { openTestStore } from "../harness/store";
import { until } from "../harness/wait";

const EVENT = JSON.stringify({ type: "command", channel: "c1", user: { id: "u1" }, text: "start" });
const MINUTE_SECONDS = 60;

let service: TestService;
/** The core that a test starts after it has stopped the service's own core. */
let later: TestProcess | undefined;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
  await later?.stop();
});

async function requestsOf({ id }: TestWorkspace, clients = service.clients): Promise<BridgeRequests> {
  const { workspaces } = clients;
  const { requests } = await call(workspaces, workspaces.listRequests, { workspaceId: id });
  if (requests === undefined) throw new Error("the answer has no requests");
  return requests;
}
type Counts = Partial<Record<RequestKind, number>>;
const countsOf = ({ counts }: BridgeRequests): Counts =>
  Object.fromEntries(counts.map(({ kind, count }) => [REQUEST_WORDS.get(kind), count]));
const causesOf = ({ refusals }: BridgeRequests): readonly (SignatureCause | undefined)[] =>
  refusals.map(({ cause }) => CAUSE_WORDS.get(cause));

/** Waits until the counts of the last hour contain `counts`, and returns the requests. */
function untilCounted(workspace: TestWorkspace, counts: Counts): Promise<BridgeRequests> {
  return until(`${JSON.stringify(counts)} are counted`, async () => {
    const requests = await requestsOf(workspace);
    const found = countsOf(requests);
    const isCounted = Object.entries(counts).every(([kind, count]) => found[kind as RequestKind] === count);
    return isCounted && requests;
  });
}
const make = () => createWorkspace(service.clients);
const withHeader = (signature: string) => ({ headers: { "Service-Signature": signature } });

interface Refused {
  readonly kind: RequestKind;
  readonly status: number;
  send(workspace: TestWorkspace): Promise<{ readonly status: number }>;
  readonly sample: Partial<RefusedRequest>;
}
const REFUSALS: readonly Refused[] = [
  {
    kind: "not-json",
    status: 400,
    send: (workspace) => post(service.url, workspace, "payload=1"),
    sample: { message: "the body is a form; send JSON", isPoll: false, sourceAddress: "127.0.0.1" },
  },
  {
    kind: "invalid",
    status: 400,
    send: (workspace) => post(service.url, workspace, { type: "command", user: { id: "u" }, text: "" }),
    sample: { field: "channel", message: "channel is required" },
  },
  {
    kind: "signature",
    status: 401,
    send: (workspace) => post(service.url, { ...workspace, secret: "another secret" }, EVENT),
    sample: { signedText: expect.stringMatching(/^\d{10}\.\{"type":"command"/) as string },
  },
  {
    kind: "timestamp",
    status: 409,
    send: ({ id, secret }) => {
      const old = nowSeconds() - 66 * MINUTE_SECONDS;
      return poll(service.url, { id, secret }, "limit=1", withHeader(signatureOf(secret, "limit=1", old)));
    },
    sample: { isPoll: true },
  },
  {
    kind: "too-large",
    status: 413,
    send: (workspace) => post(service.url, workspace, `"${"x".repeat(70_000)}"`),
    sample: { bytes: 70_002 },
  },
  {
    kind: "push-workspace",
    status: 403,
    async send(workspace) {
      await service.workspaces.setTargetUrl(workspace.id, "https://1.1.1.1/");
      return poll(service.url, workspace);
    },
    sample: { isPoll: true },
  },
  {
    kind: "disconnected",
    status: 404,
    async send(workspace) {
      await service.workspaces.disconnect(workspace.id);
      return post(service.url, workspace, EVENT);
    },
    sample: { isPoll: false },
  },
];

// time: ordering
test.each(REFUSALS)("a request refused as $kind ($status) is counted, with a sample", async (refused) => {
  const workspace = await make();
  expect(await refused.send(workspace)).toMatchObject({ status: refused.status });
  const { refusals } = await untilCounted(workspace, { [refused.kind]: 1 });
  expect(refusals).toHaveLength(1);
  expect(REQUEST_WORDS.get(refusals[0]?.kind ?? 0)).toBe(refused.kind);
  expect(refusals[0]).toMatchObject(refused.sample);
  if (refused.kind === "timestamp") {
    expect(Math.round((refusals[0]?.clockSeconds ?? 0) / MINUTE_SECONDS)).toBe(-66);
  }
});

// time: ordering
test("a wrong signature is diagnosed, and no sample and no answer contains a digest or the secret", async () => {
  const workspace = await make();
  const { id, secret } = workspace;
  const t = nowSeconds();
  const digest = createHmac("sha256", Buffer.from(secret, "base64url")).update(`${t}.${EVENT}`).digest("hex");
  const header = `t=${t},v1=${digest}`;
  const path = `/hooks/${id}`;
  const sent = await send(service.url, path, { method: "POST", body: EVENT, ...withHeader(header) });
  expect(sent.status).toBe(401);
  const requests = await untilCounted(workspace, { signature: 1 });
  expect(causesOf(requests)).toEqual(["secret-base64"]);

  const { workspaces } = service.clients;
  const check = (signature: string, body = EVENT) =>
    call(workspaces, workspaces.checkSignature, {
      workspaceId: id,
      header: signature,
      signed: { $case: "body", value: Buffer.from(body) },
    });
  const wrong = await check(header);
  expect(wrong).toMatchObject({ valid: false, secretNumber: 0, signedText: `${t}.${EVENT}`, stale: false });
  expect(CAUSE_WORDS.get(wrong.cause)).toBe("secret-base64");
  const right = await check(signatureOf(secret, EVENT, t - 400));
  expect(right).toMatchObject({ valid: true, secretNumber: 1, stale: true });
  expect(Math.abs(right.clockSeconds + 400)).toBeLessThan(200);
  await service.workspaces.rotate(id);
  expect(await check(signatureOf(secret, EVENT))).toMatchObject({ valid: true, secretNumber: 2 });
  expect(await check("")).toMatchObject({ valid: false, signedText: "" });

  const answers = JSON.stringify([requests, wrong, right]);
  const expected = signatureOf(secret, EVENT, t).split("v1=")[1] ?? "";
  expect([secret, digest, expected].filter((each) => answers.includes(each))).toEqual([]);
});

// time: ordering
test("a flood of unsigned requests does not replace the sample of the bridge's own mistake, and adds no keys for unknown workspaces", async () => {
  const workspace = await make();
  const store = await openTestStore(service.redis.url);
  const signed = signatureOf(workspace.secret, EVENT, nowSeconds()).replace(/t=\d+/, `t=${nowSeconds() + 1}`);
  const old = signatureOf(workspace.secret, EVENT, nowSeconds() - 3_600);
  const digest = createHmac("sha256", workspace.secret).update(EVENT).digest("hex");
  await post(service.url, workspace, EVENT, withHeader(`t=${nowSeconds()},v1=${digest}`));
  await post(service.url, workspace, EVENT, withHeader(old));
  await untilCounted(workspace, { signature: 1, timestamp: 1 });
  const before = Number(await store.redis.command("", ["DBSIZE"]));
  const unknown = Array.from({ length: 100 }, () => ({ ...workspace, id: randomUUID() }));
  for (let round = 0; round < 10; round++) {
    await Promise.all([
      ...Array.from({ length: 10 }, () =>
        send(service.url, `/hooks/${workspace.id}`, { method: "POST", body: EVENT }),
      ),
      post(service.url, workspace, EVENT, withHeader("t=1,v1=00")),
      post(service.url, workspace, EVENT, withHeader(signed)),
      post(service.url, workspace, "not JSON"),
    ]);
  }
  await Promise.all(unknown.map((each) => post(service.url, each, "not JSON")));
  const requests = await untilCounted(workspace, { signature: 121, timestamp: 1, "not-json": 10 });
  expect(causesOf(requests)).toEqual(expect.arrayContaining(["body-only", "missing", "digest-length"]));
  expect(requests.refusals.some(({ kind }) => REQUEST_WORDS.get(kind) === "timestamp")).toBe(true);
  // The number of keys in Redis must not grow with the number of requests.
  const after = Number(await store.redis.command("", ["DBSIZE"]));
  expect(after - before).toBeLessThan(10);
  await store.close();
});

// time: ordering
test("a watch receives the workspace's requests when it starts, and again when a request is refused", async () => {
  const workspace = await make();
  const stream = service.clients.workspaces.watchWorkspace(
    { workspaceId: workspace.id },
    bearer(TOKENS.operator),
  );
  const seen: Counts[] = [];
  stream.on("error", () => undefined);
  stream.on("data", ({ change }: { change?: { $case: string; value: unknown } }) => {
    if (change?.$case === "requests") seen.push(countsOf(change.value as BridgeRequests));
  });
  await until("the watch gets the requests", () => seen.length > 0);
  await send(service.url, `/hooks/${workspace.id}`, { method: "POST", body: EVENT });
  await until("the watch gets the refusal", () => seen.at(-1)?.signature === 1);
  stream.cancel();
  expect(seen[0]).toEqual({});
});

// time: ordering
test("the counts of two cores add up, and survive a stop of core followed by a crash of Redis", async () => {
  const workspace = await make();
  await post(service.url, workspace, EVENT, withHeader("t=1,v1=00"));
  await untilCounted(workspace, { signature: 1 });
  await post(service.url, workspace, EVENT);
  await poll(service.url, workspace);
  await withCore(service.redis.url, {}, async ({ core, clients }) => {
    const edge = await startEdge(core.port);
    await poll(`http://127.0.0.1:${edge.port}`, workspace);
    await edge.stop();
    await untilCounted(workspace, { post: 1, poll: 2, signature: 1 });
    // After a refusal, core stores only the first accepted requests immediately.
    await post(service.url, workspace, EVENT);
    expect(countsOf(await requestsOf(workspace, clients))).toMatchObject({ post: 1 });
  });
  const { port } = service.core;
  // Before core stops, it stores its counts and makes Redis write them to the append-only file.
  expect(await service.core.stop()).toBe(0);
  later = await startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${port}` });
  const answered = () => until("core answers again", () => requestsOf(workspace).catch(() => undefined));
  expect(countsOf(await answered())).toEqual({ post: 2, poll: 2, signature: 1 });
  await service.redis.restart();
  const kept = await answered();
  expect(countsOf(kept)).toEqual({ post: 2, poll: 2, signature: 1 });
  expect(causesOf(kept)).toEqual(["digest-length"]);
});
