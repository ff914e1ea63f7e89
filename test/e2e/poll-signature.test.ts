import { randomUUID } from "node:crypto";
import { RotateSigningSecretRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, poll, send, signatureOf, type Answer } from "../harness/bridge";
import { call, createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { asNumber } from "../../core/store/reply";
import { keyOf, openTestStore, redisNowUs, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const service = sharedService();
let store: TestStore;
beforeAll(async () => {
  store = await openTestStore(service.redis.url);
});
afterAll(async () => {
  await store.close();
});

async function rotate({ id }: TestWorkspace): Promise<TestWorkspace> {
  const { workspaces } = service.clients;
  const request = RotateSigningSecretRequest.create({ workspaceId: id });
  const { signingSecret } = await call(workspaces, workspaces.rotateSigningSecret, request);
  return { id, secret: signingSecret };
}

/** Polls with a path after the workspace and a signed text that are given apart. */
function ask({ id, secret }: TestWorkspace, rest: string, signed: string): Promise<Answer> {
  return send(service.url, `/hooks/${id}/events${rest}`, {
    headers: { "Service-Signature": signatureOf(secret, signed) },
  });
}

/** That the answer is signed, now, over its exact bytes, by these secrets in this order. */
function expectSigned(answer: Answer, { id }: TestWorkspace, ...secrets: string[]): void {
  expect(answer.status).toBe(200);
  expect(answer.headers["service-workspace"]).toBe(id);
  const header = String(answer.headers["service-signature"]);
  const [, t = ""] = /^t=(\d+)(,v1=[0-9a-f]{64})+$/.exec(header) ?? [];
  expect(Math.abs(Number(t) - nowSeconds())).toBeLessThanOrEqual(2);
  const entries = secrets.map((secret) => signatureOf(secret, answer.body, t).slice(`t=${t},`.length));
  expect(header).toBe([`t=${t}`, ...entries].join(","));
}

// contract: poll-signed-response, signature-format, signature-hmac
describe("a page is signed like a push", () => {
  test("over its exact bytes, with the workspace's secret, and names the workspace", async () => {
    const workspace = await createWorkspace(service.clients);
    expectSigned(await poll(service.url, workspace), workspace, workspace.secret);
    await publish(service.clients, textEvent(workspace.id, 'ünïcode 🎉 \u2028 "quoted" </script>'));
    for (const query of ["", "limit=1", "after=0", "after=latest"]) {
      expectSigned(await poll(service.url, workspace, query), workspace, workspace.secret);
    }
  });

  test("and names the workspace in lower case, in whatever case it was asked for", async () => {
    const workspace = await createWorkspace(service.clients);
    const asked = { ...workspace, id: workspace.id.toUpperCase() };
    expectSigned(await poll(service.url, asked), workspace, workspace.secret);
  });

  // contract: rotation-inbound, rotation-outbound
  test("with one entry for each active secret, newest first, and polls may be signed with any of them", async () => {
    const known = [await createWorkspace(service.clients)];
    for (let rotations = 0; rotations < 3; rotations++) {
      const newest = await rotate(known[0] ?? { id: "", secret: "" });
      known.unshift(newest);
      const secrets = known.map(({ secret }) => secret);
      expect(new Set(secrets).size).toBe(rotations + 2);
      for (const workspace of known) expectSigned(await poll(service.url, workspace), newest, ...secrets);
    }
  });
});

// contract: signature-query
describe("the signed text is the query string exactly as sent", () => {
  test.each([
    ["", ""],
    ["?", ""],
    ["?limit=1", "limit=1"],
    ["?limit=%31", "limit=%31"],
    ["?after=0&limit=1", "after=0&limit=1"],
    ["?limit=1&after=0", "limit=1&after=0"],
    ["?&limit=1&", "&limit=1&"],
    ["?%6cimit=1", "%6cimit=1"],
  ])("events%s is signed as %j", async (rest, signed) => {
    const workspace = await createWorkspace(service.clients);
    expect((await ask(workspace, rest, signed)).status).toBe(200);
  });

  test.each([
    ["", "?"],
    ["?", "?"],
    ["", "limit=1"],
    ["?limit=1", ""],
    ["?limit=1", "?limit=1"],
    ["?limit=%31", "limit=1"],
    ["?limit=1&after=0", "after=0&limit=1"],
    ["?%6cimit=1", "%6Cimit=1"],
    ["?limit=1", "limit=2"],
  ])("events%s signed as %j is answered 401", async (rest, signed) => {
    const workspace = await createWorkspace(service.clients);
    const answer = await ask(workspace, rest, signed);
    expect([answer.status, answer.json]).toEqual([
      401,
      { statusCode: 401, error: "Unauthorized", message: expect.any(String) },
    ]);
  });

  test("everything after the first question mark is part of it", async () => {
    const workspace = await createWorkspace(service.clients);
    const answer = await ask(workspace, "?limit=1?after=0", "limit=1?after=0");
    expect(answer).toMatchObject({ status: 400, json: { field: "limit" } });
  });
});

// contract: poll-order
describe("the first check that fails is answered", () => {
  const BAD_QUERY = "limit=0";
  const sign = (secret: string, t = nowSeconds()) => ({
    headers: { "Service-Signature": signatureOf(secret, BAD_QUERY, t) },
  });

  // contract: check-3
  test("404 for a workspace that is not there, before the signature is looked at", async () => {
    for (const id of [randomUUID(), "not-a-uuid", "x".repeat(300)]) {
      for (const options of [{}, sign("any")]) {
        const answer = await poll(service.url, { id, secret: "any" }, BAD_QUERY, options);
        expect([answer.status, answer.json]).toEqual([
          404,
          { statusCode: 404, error: "Not Found", message: expect.any(String) },
        ]);
      }
    }
  });

  test.each([
    ["no signature", ""],
    ["a malformed one", "t=1"],
    ["one over something else", signatureOf("any", "else")],
  ])("401 for %s, before the query is looked at", async (_what, header) => {
    const workspace = await createWorkspace(service.clients);
    const headers = { "Service-Signature": header };
    const answer = await send(service.url, `/hooks/${workspace.id}/events?${BAD_QUERY}`, {
      headers: header === "" ? {} : headers,
    });
    expect(answer.status).toBe(401);
  });

  // contract: check-5
  test.each([-310, 310])("409 for a clock that is %i s off, before the query is looked at", async (off) => {
    const { id, secret } = await createWorkspace(service.clients);
    const answer = await poll(service.url, { id, secret }, BAD_QUERY, sign(secret, nowSeconds() + off));
    expect([answer.status, answer.json]).toEqual([
      409,
      { statusCode: 409, error: "Conflict", message: expect.any(String) },
    ]);
  });

  test.each([-290, 290])("a clock that is %i s off is near enough", async (off) => {
    const { id, secret } = await createWorkspace(service.clients);
    const header = signatureOf(secret, "", nowSeconds() + off);
    const answer = await poll(service.url, { id, secret }, "", { headers: { "Service-Signature": header } });
    expect(answer.status).toBe(200);
  });
});

// contract: poll-counts-limits
describe("a poll counts", () => {
  const length = async (key: string): Promise<number> =>
    asNumber(await store.redis.command(key, ["LLEN", key]));
  const addressKey = (address: string): string =>
    `${store.keys.prefix(store.keys.shard(address))}:ip:${address}`;

  /** Answers a poll of a sender who has just made as many requests as a limit lets through. */
  function askOver(
    key: string,
    count: number,
    options: { from: string },
    query: string,
    secret: TestWorkspace,
  ) {
    return until("a poll within a second of the others", async () => {
      const began = performance.now();
      await store.redis.command(key, ["DEL", key]);
      const now = String(await redisNowUs(store));
      await store.redis.command(key, ["RPUSH", key, ...Array.from({ length: count }, () => now)]);
      const answer = await poll(service.url, secret, query, options);
      return performance.now() - began < 900 && answer;
    });
  }
  function expectLimited(answer: Answer): void {
    expect(answer.headers["retry-after"]).toBe("1");
    expect([answer.status, answer.json]).toEqual([
      429,
      { statusCode: 429, error: "Too Many Requests", message: expect.any(String) },
    ]);
  }

  test.each(["", "limit=0", "after=latest"])("?%s against both limits", async (query) => {
    const workspace = await createWorkspace(service.clients);
    const from = `127.0.2.${10 + query.length}`;
    await poll(service.url, workspace, query, { from });
    expect(await length(keyOf(store, workspace.id, "rate"))).toBe(1);
    expect(await length(addressKey(from))).toBe(1);
  });

  // contract: check-2, error-429
  test("against the address's 500 a second, signed or not", async () => {
    const workspace = await createWorkspace(service.clients);
    const from = "127.0.2.1";
    expect((await askOver(addressKey(from), 499, { from }, "", workspace)).status).toBe(200);
    expectLimited(await askOver(addressKey(from), 500, { from }, "", workspace));
    expectLimited(await askOver(addressKey(from), 500, { from }, "", { id: randomUUID(), secret: "any" }));
    expect(await length(addressKey(from))).toBe(500);
  });

  // contract: check-6
  test("against the workspace's 250 a second, before its query is looked at", async () => {
    const workspace = await createWorkspace(service.clients);
    const key = keyOf(store, workspace.id, "rate");
    const from = "127.0.2.2";
    expect((await askOver(key, 249, { from }, "", workspace)).status).toBe(200);
    expectLimited(await askOver(key, 250, { from }, "", workspace));
    expectLimited(await askOver(key, 250, { from }, "limit=0", workspace));
    expect(await length(key)).toBe(250);
    const unsigned = await askOver(key, 250, { from }, "", { ...workspace, secret: "wrong" });
    expect(unsigned.status).toBe(401);
  });
});
