import { signInPath, startBrowser, untilFocused, type TestBrowser } from "../harness/browser";
import { askApi, startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { TOKENS } from "../harness/processes";
import { createWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
let dashboard: DashboardEdge;
let browser: TestBrowser;
beforeAll(async () => {
  dashboard = await startDashboardEdge(service.core.port);
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
  await dashboard.edge.stop();
});
jest.setTimeout(120_000);

const WITHIN_MS = 20_000;

test("a sign-in link signs in once, and leaves nothing of itself in the address", async () => {
  const path = await signInPath(dashboard.url);
  const first = await browser.visit(`${dashboard.url}${path}`);
  await first.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  expect(first.page.url()).toBe(`${dashboard.url}/`);

  const second = await browser.visit(`${dashboard.url}${path}`);
  await second.page.getByText("This sign-in link was used already").waitFor();
  await second.page.getByRole("heading", { name: "Sign in" }).waitFor();
  // In the hands of someone who is signed in already it does no harm.
  await first.page.goto(`${dashboard.url}${path}`);
  await first.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  expect([...first.faults, ...second.faults]).toEqual([]);
  await first.leave();
  await second.leave();
});

test("an operator's token signs in, another one is refused with the reason at its field", async () => {
  const { page, context, faults, leave } = await browser.visit(`${dashboard.url}/connect`);
  const token = page.getByLabel("Operator's token");
  // The page takes the focus to its heading first.
  await untilFocused(page, "Sign in");
  await token.fill("not-a-token-that-core-knows");
  await token.press("Enter");
  await page.getByText("This is not an operator's token.").waitFor();
  expect(await token.getAttribute("aria-invalid")).toBe("true");

  await token.fill(TOKENS.operator);
  await token.press("Enter");
  // Where they wanted to go.
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();

  // The token is nowhere in the browser.
  const kept = JSON.stringify([
    await context.storageState(),
    await page.evaluate("JSON.stringify(sessionStorage)"),
  ]);
  expect(kept).not.toContain(TOKENS.operator);
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  expect(faults).toEqual([]);
  await leave();
});

test("signing out ends the session, in every window", async () => {
  const { page, context, leave } = await browser.visitSignedIn(dashboard.url);
  const other = await context.newPage();
  await other.goto(`${dashboard.url}/`);
  await other.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.getByRole("link", { name: "Connect a workspace" }).first().click();
  await other.getByLabel("Name").fill("too late");
  await other.getByRole("button", { name: "Connect" }).click();
  await other.getByText("Your session has ended").waitFor();
  await leave();
});

test("a workspace's page that is just looked at says by itself that the session has ended", async () => {
  const { id } = await createWorkspace(service.clients);
  const { page, context, leave } = await browser.visitSignedIn(dashboard.url, `/workspaces/${id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const [{ name, value } = { name: "", value: "" }] = await context.cookies();
  await askApi(dashboard.url, "/session", { method: "DELETE", cookie: `${name}=${value}` });
  await page.getByText("Your session has ended").waitFor();
  await leave();
});

test("the theme is the system's until one is chosen, which is kept", async () => {
  const { page, leave } = await browser.visit(dashboard.url, { colours: "dark" });
  const ground = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const dark = await ground();
  await page.getByRole("button", { name: /^Theme: system/ }).click();
  await until("light colours", async () => (await ground()) !== dark, WITHIN_MS);
  await page.reload();
  await page.getByRole("button", { name: /^Theme: light/ }).waitFor();
  expect(await ground()).not.toBe(dark);
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  await until("dark colours", async () => (await ground()) === dark, WITHIN_MS);
  await leave();
});

test("a server that is away is told of in words", async () => {
  const alone = await startDashboardEdge(service.core.port);
  const { page, leave } = await browser.visitSignedIn(alone.url);
  await alone.edge.stop();
  await page.getByRole("link", { name: "Connect a workspace" }).first().click();
  await page.getByLabel("Name").fill("nobody hears this");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByText("The dashboard's server cannot be reached.").waitFor();
  await leave();
});
