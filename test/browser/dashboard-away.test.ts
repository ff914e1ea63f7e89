import type { Page } from "playwright-core";
import { testBrowser, untilCount } from "../harness/browser";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { until } from "../harness/wait";
import { startService, type TestService, type TestWorkspace } from "../harness/service";
import { startTcpProxy, type TcpProxy } from "../faults/tcp-proxy";

const browser = testBrowser();
let service: TestService;
let core: TestProcess;
let corePort: number;
let dashboard: DashboardEdge;
/** The proxy between core and a second edge, `beyond`. */
let network: TcpProxy;
let beyond: DashboardEdge;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
  workspace = await service.workspaces.make({ name: "Still here" });
  corePort = await freePort();
  core = await startOwnCore();
  dashboard = await startDashboardEdge(corePort);
  network = await startTcpProxy({ host: "127.0.0.1", port: corePort });
  beyond = await startDashboardEdge(network.port);
});
afterAll(async () => {
  for (const pid of pids()) process.kill(pid, "SIGCONT");
  await dashboard.edge.stop();
  await beyond.edge.stop();
  await network.close();
  await core.stop();
  await service.close();
});

/** Starts the dashboard's core, always on the same port. */
const startOwnCore = () => startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${corePort}` });
const isLive = (page: Page) => page.getByText("Live", { exact: true }).waitFor();
const pids = () => [dashboard.edge.pid, core.pid, service.redis.pid];
const isAway = (page: Page) => page.getByText(/^Not live/).waitFor();

test("a page is live only while core answers; the page repeats failed reads, and says that a failed write may have taken effect", async () => {
  const { page, context } = await browser.visitSignedIn(dashboard.url, `/workspaces/${workspace.id}`);
  await isLive(page);
  await core.stop("SIGKILL");
  await isAway(page);
  const notice = page.getByText(/^The service's core does not answer\. This page updates as soon as/);
  await notice.waitFor();
  await page.getByRole("button", { name: "Send test event" }).click();
  const unknown = page.getByText("The service did not answer. It is unknown whether this was done");
  await unknown.waitFor();

  const list = await context.newPage();
  await list.goto(dashboard.url);
  await list.getByText("core does not answer right now. This could not be loaded").waitFor();
  await untilCount(list.getByText("unknown"), 0);
  // The first page is still not live, because core does not answer yet.
  await page.bringToFront();
  await isAway(page);

  core = await startOwnCore();
  await isLive(page);
  // The messages about the outage disappear by themselves: the user need not do anything.
  await unknown.waitFor({ state: "detached" });
  await untilCount(page.getByRole("alert").filter({ hasText: /\S/ }), 0);
  await list.getByRole("link", { name: "Still here" }).waitFor();
  await until("the list has no message", async () => (await list.getByRole("alert").count()) === 0);
});

// time: smoke
test.each<[string, () => DashboardEdge, () => void, () => void]>([
  [
    "core hangs",
    () => dashboard,
    () => void process.kill(core.pid, "SIGSTOP"),
    () => void process.kill(core.pid, "SIGCONT"),
  ],
  [
    "Redis hangs",
    () => dashboard,
    () => void process.kill(service.redis.pid, "SIGSTOP"),
    () => void process.kill(service.redis.pid, "SIGCONT"),
  ],
  ["the network to core stalls", () => beyond, () => network.delay(60_000), () => network.delay(0)],
])(
  "the page and the list say that %s, and update when the service answers again",
  async (_what, edge, stall, resume) => {
    const { url } = edge();
    const { page, context } = await browser.visitSignedIn(url, `/workspaces/${workspace.id}`);
    await isLive(page);
    const list = await context.newPage();
    await list.goto(url);
    await list.getByRole("row").getByText("Never polled").waitFor();
    await page.bringToFront();
    stall();
    try {
      await isAway(page);
      await page.getByText(/^The service's core does not answer\. This page/).waitFor();
      await untilCount(page.getByText("Live", { exact: true }), 0);
      await list.bringToFront();
      await list.getByText("core does not answer right now.").waitFor();
    } finally {
      resume();
    }
    await until("the list has no message", async () => (await list.getByRole("alert").count()) === 0);
    await page.bringToFront();
    await isLive(page);
    await untilCount(page.getByRole("alert").filter({ hasText: /\S/ }), 0);
  },
);

// time: smoke
test("while a page is not live, its health loses the colour of the state; a newly opened page says why it shows no data", async () => {
  const { page, context } = await browser.visitSignedIn(dashboard.url, `/workspaces/${workspace.id}`);
  await isLive(page);
  const colour = "getComputedStyle(document.querySelector('.health')).color";
  const shown = await page.evaluate<string>(colour);
  const words = await page.locator(".health-label").innerText();
  const opened = await context.newPage();
  process.kill(core.pid, "SIGSTOP");
  try {
    await isAway(page);
    await page.locator(".health.is-stale").waitFor();
    expect(await page.locator(".health-label").innerText()).toBe(words);
    await opened.goto(`${dashboard.url}/workspaces/${workspace.id}`);
    await opened.getByRole("heading", { name: "Not connected" }).waitFor();
    await opened.getByText("The service's core does not answer right now.").waitFor();
    await untilCount(opened.locator(".health"), 0);
  } finally {
    process.kill(core.pid, "SIGCONT");
  }
  await isLive(page);
  await untilCount(page.locator(".health.is-stale"), 0);
  expect(await page.evaluate<string>(colour)).toBe(shown);
  await opened.bringToFront();
  await isLive(opened);
});

// time: controlled
test("a page stops being live after 5 seconds without data in its stream, and is live again when the stream resumes", async () => {
  const { page } = await browser.visitSignedIn(dashboard.url);
  await page.clock.install();
  await page.goto(`${dashboard.url}/workspaces/${workspace.id}`);
  await isLive(page);
  dashboard.edge.child.kill("SIGSTOP");
  await page.clock.fastForward(5_000);
  await isAway(page);
  dashboard.edge.child.kill("SIGCONT");
  await isLive(page);
});

test("the page reports that the dashboard's server cannot be reached", async () => {
  const alone = await startDashboardEdge(service.core.port);
  const { page } = await browser.visitSignedIn(alone.url);
  await alone.edge.stop();
  await page.getByRole("link", { name: "Connect a workspace" }).first().click();
  await page.getByLabel("Name").fill("never connected");
  await page.getByRole("button", { name: "Connect" }).click();
  const words = "The dashboard's server did not answer. It is unknown whether this was done";
  await page.getByText(words).waitFor();
});
