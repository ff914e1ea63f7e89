import type { Page } from "playwright-core";
import { testBrowser } from "../harness/browser";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { startService, type TestService, type TestWorkspace } from "../harness/service";

const browser = testBrowser();
let service: TestService;
let core: TestProcess;
let corePort: number;
let dashboard: DashboardEdge;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
  workspace = await service.workspaces.make({ name: "Still here" });
  corePort = await freePort();
  core = await startOwnCore();
  dashboard = await startDashboardEdge(corePort);
});
afterAll(async () => {
  dashboard.edge.child.kill("SIGCONT");
  await dashboard.edge.stop();
  await core.stop();
  await service.close();
});

/** Starts the dashboard's core, always on the same port. */
const startOwnCore = () => startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${corePort}` });
const isLive = (page: Page) => page.getByText("Live", { exact: true }).waitFor();
const isAway = (page: Page) => page.getByText(/^Not live/).waitFor();

test("a page is live only while core answers; failed reads are repeated, and failed writes are reported as uncertain", async () => {
  const { page, context } = await browser.visitSignedIn(dashboard.url, `/workspaces/${workspace.id}`);
  await isLive(page);
  await core.stop("SIGKILL");
  await isAway(page);
  await page.getByRole("button", { name: "Send test event" }).click();
  const unknown = page.getByText("core does not answer right now. It is unknown whether this was done");
  await unknown.waitFor();

  const list = await context.newPage();
  await list.goto(dashboard.url);
  await list.getByText("core does not answer right now. This could not be loaded").waitFor();
  expect(await list.getByText("unknown").count()).toBe(0);
  // The first page is still not live, because core does not answer yet.
  await page.bringToFront();
  await isAway(page);

  core = await startOwnCore();
  await isLive(page);
  await list.getByRole("link", { name: "Still here" }).waitFor();
  expect(await list.getByRole("alert").count()).toBe(0);
});

// time: controlled
test("a page is not live after 5 seconds without data in its stream, and is live again when the stream resumes", async () => {
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
  const words = "The dashboard's server cannot be reached. It is unknown whether this was done";
  await page.getByText(words).waitFor();
});
