import { get, type IncomingMessage } from "node:http";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { connectRedis, type Redis } from "../../core/store/redis/redis";
import { createSealedClient, SessionsUnavailable } from "../../edge/dashboard/sealed-client";
import { BridgeServiceService } from "../../proto/gen/chatbridge/v1/bridge";
import { SEALED_KEYS } from "../harness/age-sessions";
import { askApi, signIn, startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { expectQuiet } from "../harness/output";
import { freePort, startCore, TOKENS, type TestProcess } from "../harness/processes";
import { startService, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

let service: TestService;
let redis: Redis;
let [one, other]: DashboardEdge[] = [];
let workspace: TestWorkspace;
let coreAgain: TestProcess | undefined;
let CORE_LISTEN: string;
beforeAll(async () => {
  CORE_LISTEN = `127.0.0.1:${await freePort()}`;
  service = await startService({ core: { CORE_LISTEN } });
  redis = await connectRedis({ url: service.redis.url, onError: () => undefined });
  const settings = { TRUST_PROXY: "127.0.0.1" };
  one = await startDashboardEdge(service.core.port, settings);
  other = await startDashboardEdge(service.core.port, settings);
  workspace = await service.workspaces.make();
});
afterAll(async () => {
  await Promise.all([one?.edge.stop(), other?.edge.stop()]);
  await redis.close();
  await coreAgain?.stop();
  await service.close();
});

const statusAt = async (edge: DashboardEdge | undefined, cookie: string, path = "/workspaces") =>
  (await askApi(edge?.url ?? "", path, { cookie })).status;

/**
 * Opens the live updates of the workspace. Returns the HTTP status, and a function that says whether the updates have
 * ended.
 */
async function watch(edge: DashboardEdge | undefined, cookie: string) {
  const path = `${edge?.url}/api/workspaces/${workspace.id}/watch`;
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    get(path, { headers: { cookie } }, resolve).on("error", reject);
  });
  let isOver = false;
  stream.resume().once("close", () => (isOver = true));
  return { status: stream.statusCode, isOver: () => isOver };
}

test("all edges accept a session, and a sign-out at one edge ends the session and its live updates at every edge", async () => {
  const cookie = await signIn(one?.url ?? "");
  expect([await statusAt(one, cookie), await statusAt(other, cookie)]).toEqual([200, 200]);
  const [here, there] = [await watch(one, cookie), await watch(other, cookie)];
  expect([here.status, there.status]).toEqual([200, 200]);
  expect((await askApi(one?.url ?? "", "/session", { method: "DELETE", cookie })).status).toBe(204);
  expect(await statusAt(one, cookie)).toBe(401);
  await until("the other edge ends the session", async () => (await statusAt(other, cookie)) === 401);
  await until("the live updates end", () => here.isOver() && there.isOver());
});

test("a sign-in link of one edge works once at any edge", async () => {
  const headers = { authorization: `Bearer ${TOKENS.operator}` };
  const made = await askApi(one?.url ?? "", "/sign-in-links", { method: "POST", headers });
  const code = (made.json as { path: string }).path.slice("/#sign-in=".length);
  const use = (edge?: DashboardEdge) =>
    askApi(edge?.url ?? "", "/session", { method: "POST", body: { code } });
  const statuses = (await Promise.all([use(one), use(other), use(other)])).map(({ status }) => status);
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
});

test("a session continues after a restart of the edge, and its token is neither in Redis nor in a log", async () => {
  const edge = await startDashboardEdge(service.core.port);
  const cookie = await signIn(edge.url);
  await edge.edge.stop();
  const restarted = await startDashboardEdge(service.core.port);
  expect((await askApi(restarted.url, "/session", { cookie })).json).toMatchObject({ tokenName: "operator" });
  expect(await statusAt(restarted, cookie)).toBe(200);
  const dump = "return table.concat({ redis.call('DUMP', KEYS[1]) })";
  const keys = (await redis.command("", ["KEYS", SEALED_KEYS])) as Buffer[];
  expect(keys.length).toBeGreaterThan(1);
  for (const key of keys) {
    const stored = `${key.toString()} ${String(await redis.command("", ["EVAL", dump, "1", key]))}`;
    expect(stored).not.toContain(TOKENS.operator);
    expect(stored).not.toContain(cookie.slice("dashboard=".length));
  }
  await restarted.edge.stop();
  expectQuiet(
    [service.core, edge.edge, restarted.edge],
    [TOKENS.operator, cookie.slice("dashboard=".length)],
  );
});

// time: smoke
test("an address that sends 120 invalid cookies in a minute gets 429, and people at that address stay signed in", async () => {
  const from = { "x-forwarded-for": "203.0.113.9" };
  const url = one?.url ?? "";
  const cookie = await signIn(url);
  const ask = async (value: string) =>
    (await askApi(url, "/workspaces", { cookie: value, headers: from })).status;
  expect(await ask(cookie)).toBe(200);
  const statuses: number[] = [];
  for (let i = 0; i < 121; i++) statuses.push(await ask(`dashboard=${String(i).padStart(43, "x")}`));
  expect(statuses.filter((status) => status !== 401)).toEqual([429]);
  expect(await ask(cookie)).toBe(200);
  // Text that cannot be a cookie of the dashboard needs no lookup.
  expect(await ask("dashboard=x")).toBe(401);
});

test("while core is unavailable, nobody is signed out, and the answer says that core does not answer", async () => {
  const cookie = await signIn(one?.url ?? "");
  await service.core.stop();
  for (const edge of [one, other]) {
    const answer = await askApi(edge?.url ?? "", "/session", { cookie });
    expect([answer.status, answer.headers["set-cookie"]]).toEqual([503, undefined]);
    expect(answer.json).toMatchObject({ message: expect.stringContaining("does not answer") as string });
  }
  // The edge must not report a successful sign-out, because the session is still in Redis.
  expect((await askApi(other?.url ?? "", "/session", { method: "DELETE", cookie })).status).toBe(503);
  coreAgain = await startCore(service.redis.url, { CORE_LISTEN });
  const statuses = async () => [await statusAt(one, cookie), await statusAt(other, cookie)];
  await until("core answers", async () => !(await statuses()).includes(503));
  expect(await statuses()).toEqual([200, 200]);
});

describe("with a core of an older release,", () => {
  /** Starts a stand-in for core, which serves the calls for sessions only if `isNew` is true. Returns its port. */
  async function startStandIn(isNew: boolean) {
    const server = new Server();
    const { lane, receive, poll, ...sealed } = BridgeServiceService;
    const found = { sealed: Buffer.from("x"), expiresAt: new Date(0) };
    const readSealed = (_call: unknown, done: (error: null, found: object) => void) => done(null, found);
    const unused = (): never => {
      throw new Error("not called");
    };
    if (isNew) server.addService(sealed, { readSealed, putSealed: unused, takeSealed: unused });
    else server.addService({ lane, receive, poll }, { lane: unused, receive: unused, poll: unused });
    const port = await new Promise<number>((resolve, reject) => {
      const insecure = ServerCredentials.createInsecure();
      server.bindAsync("127.0.0.1:0", insecure, (error, bound) => (error ? reject(error) : resolve(bound)));
    });
    return { port, server };
  }

  test("an edge whose core is too old asks the next core, and says what to do if every core is too old", async () => {
    const [old, fresh] = [await startStandIn(false), await startStandIn(true)];
    const clientOf = (...ports: readonly number[]) => {
      const address = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(",")}`;
      return createSealedClient({ address, token: "t", tls: undefined });
    };
    const [mixed, onlyOld] = [clientOf(old.port, fresh.port), clientOf(old.port)];
    for (let i = 0; i < 4; i++) expect(await mixed.read("session", "id", false)).toBeDefined();
    const failure: unknown = await onlyOld.read("session", "id", false).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SessionsUnavailable);
    expect((failure as SessionsUnavailable).answer).toMatchObject({
      status: 503,
      message: "This dashboard needs a newer release of core. Try again when the upgrade is complete.",
    });
    mixed.close();
    onlyOld.close();
    for (const { server } of [old, fresh]) server.forceShutdown();
  });
});
