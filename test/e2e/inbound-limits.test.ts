import { randomUUID } from "node:crypto";
import { nowSeconds, poll, post, send, signatureOf, type Answer, type SendOptions } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { startEdge, type TestProcess } from "../harness/processes";
import { expectRefusal } from "../harness/refusals";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { fixLimiters, type Limiters } from "../harness/limiters";
import { testStore } from "../harness/store";

const service = sharedService();
const workspace = freshWorkspace(service, beforeEach);
const store = testStore({ redisUrl: service.redis.url });
/** A second edge, which trusts this machine as a proxy. */
let proxied: TestProcess;
let otherUrl: string;
let limiters: Limiters;
beforeAll(async () => {
  limiters = await fixLimiters(store);
  proxied = await startEdge(service.core.port, { TRUST_PROXY: "127.0.0.0/8" });
  otherUrl = `http://127.0.0.1:${proxied.port}`;
});
afterAll(() => proxied.stop());

const ADDRESS_LIMIT = 500;
const WORKSPACE_LIMIT = 250;

let addresses = 0;
const freshAddress = (): string => `127.0.3.${++addresses}`;

let events = 0;
const command = (id = `r${++events}`) => ({
  type: "command",
  id,
  channel: "c1",
  user: { id: "u1" },
  text: id,
});
const INVALID = { ...command(), user: {} };

/** Sends an unsigned request to a workspace that does not exist. */
const nowhere = (options: SendOptions, url = service.url): Promise<Answer> =>
  send(url, `/hooks/${randomUUID()}`, { method: "POST", body: "{}", ...options });
const forwarded = (address: string) => ({ "X-Forwarded-For": address, Forwarded: `for=${address}` });
const signedAt = (t: number, body: object, secret = workspace.secret) => ({
  headers: { "Service-Signature": signatureOf(secret, JSON.stringify(body), t) },
});

function expectLimited(answer: Answer): void {
  expectRefusal(answer, 429);
  expect(answer.headers["retry-after"]).toMatch(/^[1-9][0-9]*$/);
}

describe("at most 500 requests a second from one IP address:", () => {
  // time: controlled
  // contract: check-2, order, error-429
  test("the first 500 requests pass, and later requests are answered with 429; requests whose body is too large or not JSON do not count", async () => {
    const from = freshAddress();
    const expectBodyRefused = async () => {
      expectRefusal(await nowhere({ from, body: "{" }), 400);
      expectRefusal(await nowhere({ from, body: "x".repeat(65_537) }), 413);
    };
    await limiters.fill("address", from, ADDRESS_LIMIT - 1);
    await expectBodyRefused();
    expectRefusal(await nowhere({ from }), 404);
    await expectBodyRefused();
    const unsigned = { headers: { "Service-Signature": "" }, from };
    expectLimited(await nowhere({ from }));
    expectLimited(await post(service.url, workspace, command(), { from }));
    expectLimited(await post(service.url, workspace, INVALID, unsigned));
    for (const query of ["", "limit=0"]) {
      expectLimited(await poll(service.url, workspace, query, { from }));
      expectLimited(await poll(service.url, workspace, query, unsigned));
    }
    expect(await limiters.countOf("address", from)).toBe(ADDRESS_LIMIT);
    expectRefusal(await nowhere({ from: freshAddress() }), 404);
  });

  // time: controlled
  // contract: check-2, poll-counts-limits
  test("the limit of an address counts posts and polls together, signed or not, for all workspaces and on all edges", async () => {
    const from = freshAddress();
    const other = await service.workspaces.make();
    await limiters.fill("address", from, ADDRESS_LIMIT - 7);
    const passed = [
      await post(service.url, workspace, command(), { from }),
      await post(otherUrl, other, INVALID, { from }),
      await poll(service.url, other, "", { from }),
      await poll(otherUrl, workspace, "after=latest", { from }),
      await poll(service.url, workspace, "limit=0", { from }),
      await poll(service.url, { ...workspace, secret: "another secret" }, "", { from }),
      await nowhere({ from }, otherUrl),
    ];
    expect(passed.map(({ status }) => status)).toEqual([202, 400, 200, 200, 400, 401, 404]);
    for (const url of [service.url, otherUrl]) expectLimited(await nowhere({ from }, url));
  });

  test("a trusted proxy can report a client's address, in any notation; a client cannot choose its own address", async () => {
    const from = freshAddress();
    await limiters.fill("address", from, ADDRESS_LIMIT);
    await limiters.fill("address", "2001:db8:1::7", ADDRESS_LIMIT);
    expectLimited(await nowhere({ from, headers: forwarded("2001:db8::1") }));
    expectRefusal(await nowhere({ from, headers: forwarded("2001:db8::1") }, otherUrl), 404);
    for (const written of ["2001:db8:1::7", "2001:0DB8:0001:0000::7", "evil, 2001:db8:1:0:0:0:0:7"]) {
      expectLimited(await nowhere({ from, headers: forwarded(written) }, otherUrl));
    }
    const late = { a: Array<string>(2_500).fill(""), ...forwarded("2001:db8:1::7") };
    expectLimited(await nowhere({ from, headers: late }, otherUrl));
  });

  test("behind several proxies, the last forwarded address that is not trusted is the client's; if all are trusted, the first is", async () => {
    const [from, client] = [freshAddress(), "2001:db8:2::7"];
    await limiters.fill("address", client, ADDRESS_LIMIT);
    for (const chain of [`${client}, 127.9.9.1`, `evil, ${client}, 127.9.9.1, 127.9.9.2`]) {
      expectLimited(await nowhere({ from, headers: forwarded(chain) }, otherUrl));
    }
    // The last address is not trusted, so the edge ignores the addresses before it.
    const stranger = `${client}, 198.51.100.${++addresses}`;
    expectRefusal(await nowhere({ from, headers: forwarded(stranger) }, otherUrl), 404);
    const first = "127.9.9.3";
    await limiters.fill("address", first, ADDRESS_LIMIT);
    expectLimited(await nowhere({ from, headers: forwarded(`${first}, 127.9.9.1`) }, otherUrl));
  });
});

describe("at most 250 signed requests a second for one workspace:", () => {
  // time: controlled
  // contract: check-6, poll-counts-limits, error-429
  test("the limit of a workspace counts posts, repeats and polls together; after 250 requests, further ones from any address are answered with 429", async () => {
    await limiters.fill("workspace", workspace.id, WORKSPACE_LIMIT - 3);
    const repeated = command();
    for (let i = 0; i < 2; i++) expect((await post(service.url, workspace, repeated)).status).toBe(202);
    expect((await poll(service.url, workspace)).status).toBe(200);
    for (const from of [freshAddress(), freshAddress()]) {
      expectLimited(await post(service.url, workspace, command(), { from }));
      expectLimited(await poll(service.url, workspace, "", { from }));
    }
    expect(await limiters.countOf("workspace", workspace.id)).toBe(WORKSPACE_LIMIT);
    expect((await post(service.url, await service.workspaces.make(), command())).status).toBe(202);
  });

  // time: controlled
  // contract: order
  test("requests with wrong signatures or old timestamps do not count for the limit of a workspace, but requests with invalid fields count", async () => {
    const body = command();
    const expectCallerRefused = async () => {
      const wrong = signedAt(nowSeconds(), body, "another secret");
      expectRefusal(await post(service.url, workspace, body, wrong), 401);
      expectRefusal(await poll(service.url, { ...workspace, secret: "another secret" }), 401);
      expectRefusal(await post(service.url, workspace, body, signedAt(nowSeconds() - 400, body)), 409);
    };
    await limiters.fill("workspace", workspace.id, WORKSPACE_LIMIT - 2);
    await expectCallerRefused();
    expectRefusal(await post(service.url, workspace, INVALID), 400, "user.id");
    expectRefusal(await poll(service.url, workspace, "limit=0"), 400, "limit");
    await expectCallerRefused();
    expectLimited(await post(service.url, workspace, INVALID));
    expectLimited(await poll(service.url, workspace, "limit=0"));
  });
});

test("the requests in this file cause no logged error, and no secret or signature in them is logged", () => {
  expectQuiet([service.core, service.edge, proxied], ["v1=", "another secret"]);
});
