import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { askApi, signIn, startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { freePort, startCore, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, createWorkspace, type CoreClients, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

const STEP_MS = 61 * 60_000;
/** The watch says that it is there every 15 seconds. */
const BEAT_WITHIN_MS = 40_000;

let redis: TestRedis;
let corePort: number;
let core: TestProcess;
let clients: CoreClients;
let dashboard: DashboardEdge;
let workspace: TestWorkspace;
const startCoreAgain = (): Promise<TestProcess> =>
  startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${corePort}` });
beforeAll(async () => {
  redis = await startTestRedis();
  corePort = await freePort();
  core = await startCoreAgain();
  clients = connectToCore(corePort);
  workspace = await createWorkspace(clients);
  dashboard = await startDashboardEdge(corePort, {
    TRUST_PROXY: "127.0.0.1",
    CLOCK_STEP_MS: String(STEP_MS),
    NODE_OPTIONS: `--require ${join(__dirname, "../harness/clock-ahead.js")}`,
  });
});
afterAll(async () => {
  clients.close();
  await dashboard.edge.stop();
  await core.stop();
  await redis.close();
});
jest.setTimeout(120_000);

describe("a sign-in link", () => {
  async function newCode(): Promise<string> {
    const authorization = `Bearer ${TOKENS.operator}`;
    const made = await askApi(dashboard.url, "/sign-in-links", {
      method: "POST",
      headers: { authorization },
    });
    return (made.json as { path: string }).path.slice("/#sign-in=".length);
  }

  let places = 1;
  /** There are enough of them for however often core is asked until it is back. */
  function newPlace(): string {
    places++;
    return `198.18.${places >> 8}.${places & 255}`;
  }
  /** Everyone comes from somewhere else, so that nobody has to wait for others. */
  async function use(code: string, from = newPlace()): Promise<number> {
    const headers = { "x-forwarded-for": from };
    return (await askApi(dashboard.url, "/session", { method: "POST", body: { code }, headers })).status;
  }

  test("is still good after an attempt that had to wait", async () => {
    const code = await newCode();
    const guesser = "203.0.113.1";
    for (let i = 0; i < 10; i++) expect(await use(`guess-number-${i}`, guesser)).toBe(401);
    expect(await use(code, guesser)).toBe(429);
    expect([await use(code), await use(code)]).toEqual([200, 401]);
  });

  test("is still good after an attempt that core did not answer", async () => {
    const code = await newCode();
    await core.stop();
    expect(await use(code)).toBe(503);
    core = await startCoreAgain();
    const status = await until(
      "core answers",
      async () => {
        const answered = await use(code);
        return answered === 503 ? undefined : answered;
      },
      60_000,
    );
    expect([status, await use(code)]).toEqual([200, 401]);
  });

  test("signs in one of many who use it at the same time", async () => {
    const code = await newCode();
    const statuses = await Promise.all(Array.from({ length: 5 }, () => use(code)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(4);
  });
});

describe("a session ends after two hours without use", () => {
  /** Sets the edge's clocks ahead by an hour and a minute. */
  async function setAhead(): Promise<void> {
    const times = () => dashboard.edge.log.filter(({ msg }) => msg === "the clocks are ahead").length;
    const before = times();
    dashboard.edge.child.kill("SIGUSR2");
    await until("the clocks are ahead", () => times() > before);
  }

  const ask = async (cookie: string, path: string, headers = {}): Promise<number> =>
    (await askApi(dashboard.url, path, { cookie, headers })).status;

  test("which what a person does is, so that it goes on", async () => {
    const cookie = await signIn(dashboard.url);
    for (const path of ["/workspaces", `/workspaces/${workspace.id}`, "/workspaces"]) {
      await setAhead();
      expect(await ask(cookie, path)).toBe(200);
    }
    await setAhead();
    await setAhead();
    expect(await ask(cookie, "/workspaces")).toBe(401);
  });

  test("which what the page asks by itself is not", async () => {
    const cookie = await signIn(dashboard.url);
    const byItself = { "x-dashboard": "by-itself" };
    await setAhead();
    expect(await ask(cookie, `/health?ids=${workspace.id}`)).toBe(200);
    expect(await ask(cookie, `/workspaces/${workspace.id}`, byItself)).toBe(200);
    await setAhead();
    expect(await ask(cookie, `/health?ids=${workspace.id}`)).toBe(401);
  });

  test("which a watch that is open is not, and the watch ends with it", async () => {
    const cookie = await signIn(dashboard.url);
    const watch = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(`${dashboard.url}/api/workspaces/${workspace.id}/watch`, { headers: { cookie } }, resolve)
        .on("error", reject)
        .end();
    });
    let [heard, isOver] = ["", false];
    watch.setEncoding("utf8").on("data", (text: string) => (heard += text));
    watch.once("end", () => (isOver = true));
    await setAhead();
    await until("the watch says that it is there", () => heard.includes(": here"), BEAT_WITHIN_MS);
    await setAhead();
    expect(await ask(cookie, "/workspaces")).toBe(401);
    await until("the watch is over", () => isOver, BEAT_WITHIN_MS);
  });
});
