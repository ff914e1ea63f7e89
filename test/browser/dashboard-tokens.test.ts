import { testBrowser, untilCount, type Visitor } from "../harness/browser";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const ANN = "token-of-ann-for-tests";
const service = sharedService();
const browser = testBrowser();
let core: TestProcess;
let dashboard: DashboardEdge;
let workspace: TestWorkspace;
let visitor: Visitor;

beforeAll(async () => {
  workspace = await service.workspaces.make({ name: "Night shift" });
  await service.workspaces.make({ name: "Somebody else's" });
  const tokens = [`edge=${TOKENS.edge}`, `operator:ann@${workspace.id}=${ANN}`];
  core = await startCore(service.redis.url, { CORE_TOKENS: tokens.join() });
  dashboard = await startDashboardEdge(core.port);
  visitor = await browser.visit(dashboard.url);
  const { page } = visitor;
  await page.getByLabel("Operator's token").fill(ANN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
});
afterAll(async () => {
  await dashboard.edge.stop();
  await core.stop();
});

test("a user with a limited token sees the token's name and its workspaces, and cannot connect a workspace", async () => {
  const { page } = visitor;
  await page.goto(dashboard.url);
  await page.locator(".token-name").getByText("ann").waitFor();
  await page.getByRole("row").getByText("Night shift").waitFor();
  await untilCount(page.getByText("Somebody else's"), 0);
  await page.getByText("The token ann is limited to 1 workspace.").waitFor();
  await untilCount(page.getByRole("link", { name: /Connect/ }), 0);
  await expectUsable(page, "the list for a limited token");
  await page.goto(`${dashboard.url}/connect`);
  await page.getByText("sign in with a token that is not limited").waitFor();
  await untilCount(page.getByRole("textbox"), 0);
  await expectUsable(page, "connecting with a limited token");
});

test("the page of a workspace lists each change as soon as it is made, with the name of the token that made it", async () => {
  const { page } = visitor;
  await page.goto(`${dashboard.url}/workspaces/${workspace.id}/settings`);
  const entries = page.locator(".changes li");
  await until("the first change", async () => (await entries.count()) === 1);
  const save = page.getByRole("button", { name: "Save" });
  for (const name of ["Day shift", "Late shift", "Early shift"]) {
    await page.getByLabel("Name").fill(name);
    await save.click();
    await entries.first().getByText(`→ ${name}`).waitFor();
  }
  expect(await entries.first().innerText()).toMatch(/^Renamed\s+Late shift → Early shift\s+ann, /);
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByText(/^The ping is held/).waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  await entries.first().getByText("Test event sent").waitFor();
  await page.getByLabel("Owner's email").fill("ann@example.com");
  await save.click();
  await entries.first().getByText("none → ann@example.com").waitFor();
  await untilCount(entries, 5);
  await page.getByRole("button", { name: "Show all (6)" }).click();
  await entries.nth(5).getByText("Created").waitFor();
  await expectUsable(page, "the changes of a workspace");
});

test("if a limited token may not see a workspace, the workspace's page says so", async () => {
  const { page } = visitor;
  const others = await service.workspaces.make({ name: "Nobody's business" });
  await page.goto(`${dashboard.url}/workspaces/${others.id}`);
  await page.getByText("is not valid for it").waitFor();
  expect(await page.content()).not.toContain("Nobody's business");
});
