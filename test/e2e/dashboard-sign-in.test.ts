import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { connectRedis, type Redis } from "../../core/store/redis/redis";
import { ageSessions } from "../harness/age-sessions";
import { askApi, dashboardUrlOf, signIn } from "../harness/dashboard";
import { freePort, startCore, TOKENS, type TestProcess } from "../harness/processes";
import { startService, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

const STEP_MS = 61 * 60_000;

let service: TestService;
let coreAgain: TestProcess | undefined;
let redis: Redis;
let url: string;
let workspace: TestWorkspace;
let CORE_LISTEN: string;
beforeAll(async () => {
  CORE_LISTEN = `127.0.0.1:${await freePort()}`;
  service = await startService({
    core: { CORE_LISTEN },
    edge: {
      DASHBOARD_LISTEN: "127.0.0.1:0",
      TRUST_PROXY: "127.0.0.1",
      CLOCK_STEP_MS: String(STEP_MS),
      NODE_OPTIONS: `--require ${join(__dirname, "../harness/clock-ahead.js")}`,
    },
  });
  redis = await connectRedis({ url: service.redis.url, onError: () => undefined });
  url = dashboardUrlOf(service.edge);
  workspace = await service.workspaces.make();
});
afterAll(async () => {
  await redis.close();
  await coreAgain?.stop();
  await service.close();
});

describe("sign-in links:", () => {
  async function newCode(): Promise<string> {
    const authorization = `Bearer ${TOKENS.operator}`;
    const made = await askApi(url, "/sign-in-links", { method: "POST", headers: { authorization } });
    return (made.json as { path: string }).path.slice("/#sign-in=".length);
  }

  let places = 1;
  /** Returns a different IP address at each call, so that the limit per address does not reject any attempt. */
  function newPlace(): string {
    places++;
    return `198.18.${places >> 8}.${places & 255}`;
  }
  /** Signs in from the address `from`, which a trusted proxy reports. Each address has its own limit of attempts. */
  const useFrom = (from: string, body: { readonly code: string } | { readonly token: string }) =>
    askApi(url, "/session", { method: "POST", body, headers: { "x-forwarded-for": from } });
  const use = async (code: string): Promise<number> => (await useFrom(newPlace(), { code })).status;

  // time: smoke
  test("a sign-in link stays valid if its use is rejected because of the limit of ten attempts a minute from one address", async () => {
    const code = await newCode();
    const guesser = "203.0.113.1";
    for (let i = 0; i < 5; i++) {
      expect((await useFrom(guesser, { code: `guess-number-${i}` })).status).toBe(401);
      expect((await useFrom(guesser, { token: `guess-number-${i}` })).status).toBe(401);
    }
    for (const shown of [{ code }, { token: TOKENS.operator }]) {
      const refused = await useFrom(guesser, shown);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
      expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(60);
    }
    expect([await use(code), await use(code)]).toEqual([200, 401]);
  });

  test("a sign-in link stays valid after an attempt that core did not answer", async () => {
    const code = await newCode();
    await service.core.stop();
    expect(await use(code)).toBe(503);
    coreAgain = await startCore(service.redis.url, { CORE_LISTEN });
    const status = await until("core answers", async () => {
      const answered = await use(code);
      return answered === 503 ? undefined : answered;
    });
    expect([status, await use(code)]).toEqual([200, 401]);
  });

  test("a sign-in link signs in only one of several clients that use it at the same time", async () => {
    const code = await newCode();
    const statuses = await Promise.all(Array.from({ length: 5 }, () => use(code)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(4);
  });
});

// time: controlled
describe("a session ends after two hours without use:", () => {
  /** Sets the edge's clocks ahead by an hour and a minute, and ages the sessions in Redis by the same time. */
  async function setAhead(): Promise<void> {
    await ageSessions(redis, STEP_MS);
    const times = () => service.edge.log.filter(({ msg }) => msg === "the clocks are ahead").length;
    const before = times();
    service.edge.child.kill("SIGUSR2");
    await until("the clocks are ahead", () => times() > before);
  }

  const ask = async (cookie: string, path: string, headers = {}): Promise<number> =>
    (await askApi(url, path, { cookie, headers })).status;

  test("the session lasts as long as the user uses it", async () => {
    const cookie = await signIn(url);
    for (const path of ["/workspaces", `/workspaces/${workspace.id}`, "/workspaces"]) {
      await setAhead();
      expect(await ask(cookie, path)).toBe(200);
    }
    await setAhead();
    await setAhead();
    expect(await ask(cookie, "/workspaces")).toBe(401);
  });

  test("requests that the page sends by itself do not extend the session", async () => {
    const cookie = await signIn(url);
    const byItself = { "x-dashboard": "by-itself" };
    await setAhead();
    expect(await ask(cookie, `/health?ids=${workspace.id}`)).toBe(200);
    expect(await ask(cookie, `/workspaces/${workspace.id}`, byItself)).toBe(200);
    await setAhead();
    expect(await ask(cookie, `/health?ids=${workspace.id}`)).toBe(401);
  });

  test("an open watch does not extend the session, and ends when the session ends", async () => {
    const cookie = await signIn(url);
    const watch = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(`${url}/api/workspaces/${workspace.id}/watch`, { headers: { cookie } }, resolve)
        .on("error", reject)
        .end();
    });
    let [heard, isOver] = ["", false];
    watch.setEncoding("utf8").on("data", (text: string) => (heard += text));
    watch.once("end", () => (isOver = true));
    await setAhead();
    await until("the watch sends a heartbeat", () => heard.includes(": available"));
    await setAhead();
    expect(await ask(cookie, "/workspaces")).toBe(401);
    await until("the watch ends", () => isOver);
  });
});
