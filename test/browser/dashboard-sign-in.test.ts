import { signInPath, testBrowser, untilFocused } from "../harness/browser";
import { askApi } from "../harness/dashboard";
import { TOKENS } from "../harness/processes";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

test("a sign-in link works once and disappears from the address bar", async () => {
  const path = await signInPath(dashboardUrl);
  const first = await browser.visit(`${dashboardUrl}${path}`);
  await first.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  expect(first.page.url()).toBe(`${dashboardUrl}/`);

  const second = await browser.visit(`${dashboardUrl}${path}`);
  await second.page.getByText("This sign-in link has already been used").waitFor();
  await second.page.getByRole("heading", { name: "Sign in" }).waitFor();
  // A used link has no effect for a user who is already signed in.
  await first.page.goto(`${dashboardUrl}${path}`);
  await first.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
});

test("an operator's token signs the user in; an unknown token is rejected, with the reason next to the field", async () => {
  const { page, context } = await browser.visit(`${dashboardUrl}/connect`);
  const token = page.getByLabel("Operator's token");
  // The page first moves the focus to its heading.
  await untilFocused(page, "Sign in");
  await token.fill("not-a-token-that-core-knows");
  await token.press("Enter");
  await page.getByText("This is not an operator's token.").waitFor();
  expect(await token.getAttribute("aria-invalid")).toBe("true");

  await token.fill(TOKENS.operator);
  await token.press("Enter");
  // After the sign-in, the dashboard shows the page that was requested before the sign-in.
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();

  // The browser does not store the token.
  const kept = await page.evaluate<string>("JSON.stringify(sessionStorage)");
  expect(kept + JSON.stringify(await context.storageState())).not.toContain(TOKENS.operator);
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
});

test("signing out ends the session, in every window", async () => {
  const { page, context } = await browser.visitSignedIn(dashboardUrl);
  const other = await context.newPage();
  // This page does not refresh itself, so it does not notice the end of the session before the click.
  await other.goto(`${dashboardUrl}/connect`);
  await other.getByLabel("Name").fill("too late");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.getByRole("button", { name: "Connect" }).click();
  await other.getByText("Your session has ended").waitFor();
});

test("an open page of a workspace shows the end of the session, before the user clicks anything", async () => {
  const { id } = await service.workspaces.make();
  const { page, context } = await browser.visitSignedIn(dashboardUrl, `/workspaces/${id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const [{ name, value } = { name: "", value: "" }] = await context.cookies();
  await askApi(dashboardUrl, "/session", { method: "DELETE", cookie: `${name}=${value}` });
  await page.getByText("Your session has ended").waitFor();
});

test("the theme follows the system until the user chooses a theme; the choice is saved", async () => {
  const { page } = await browser.visit(dashboardUrl, { colorScheme: "dark" });
  const ground = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const dark = await ground();
  await page.getByRole("button", { name: /^Theme: system/ }).click();
  await until("light colours", async () => (await ground()) !== dark);
  await page.reload();
  await page.getByRole("button", { name: /^Theme: light/ }).waitFor();
  expect(await ground()).not.toBe(dark);
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  await until("dark colours", async () => (await ground()) === dark);
});
