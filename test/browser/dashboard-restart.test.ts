import { testBrowser, untilCount } from "../harness/browser";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { startService, type TestService, type TestWorkspace } from "../harness/service";

const browser = testBrowser();
let service: TestService;
let core: TestProcess;
let dashboard: DashboardEdge;
let workspace: TestWorkspace;
let [CORE_LISTEN, DASHBOARD_LISTEN] = ["", ""];
beforeAll(async () => {
  CORE_LISTEN = `127.0.0.1:${await freePort()}`;
  DASHBOARD_LISTEN = `127.0.0.1:${await freePort()}`;
  service = await startService();
  workspace = await service.workspaces.make({ name: "Half done" });
  core = await startCore(service.redis.url, { CORE_LISTEN });
  dashboard = await startOwnEdge();
});
afterAll(async () => {
  await dashboard.edge.stop();
  await core.stop();
  await service.close();
});

/** Starts the edge of the tests, always on the same port. */
const startOwnEdge = () => startDashboardEdge(Number(CORE_LISTEN.split(":")[1]), { DASHBOARD_LISTEN });

test("a restart of the edge signs nobody out, and pages keep the text that was typed", async () => {
  const { page, context } = await browser.visitSignedIn(dashboard.url, `/workspaces/${workspace.id}`);
  const connect = await context.newPage();
  await connect.goto(`${dashboard.url}/connect`);
  await connect.getByLabel("Name").fill("Half typed name");
  await page.bringToFront();
  await page.getByText("Live", { exact: true }).waitFor();
  await dashboard.edge.stop();
  await page.getByText(/^Not live/).waitFor();
  dashboard = await startOwnEdge();
  await page.getByText("Live", { exact: true }).waitFor();
  await connect.bringToFront();
  expect(await connect.getByLabel("Name").inputValue()).toBe("Half typed name");
  await connect.getByLabel("Owner's email").fill("owner@example.org");
  await connect.getByRole("button", { name: "Connect" }).click();
  await connect.getByText("Half typed name").first().waitFor();
  await untilCount(connect.getByLabel("Operator's token"), 0);
});

test("a page that is opened while core is unavailable waits, and does not ask for a token", async () => {
  const { page } = await browser.visitSignedIn(dashboard.url);
  await core.stop("SIGKILL");
  await page.reload();
  await page.getByRole("heading", { name: "Not connected" }).waitFor();
  await page.getByText("core does not answer right now. This could not be loaded").waitFor();
  await untilCount(page.getByLabel("Operator's token"), 0);
  core = await startCore(service.redis.url, { CORE_LISTEN });
  await page.getByRole("link", { name: "Half done" }).waitFor();
});
