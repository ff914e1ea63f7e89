import { startBrowser, type TestBrowser } from "../harness/browser";
import { poll } from "../harness/bridge";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { until } from "../harness/wait";
import { createWorkspaceApi, type WorkspaceApi } from "../harness/workspace-api";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let dashboard: DashboardEdge;
let browser: TestBrowser;
let workspaces: WorkspaceApi;
beforeAll(async () => {
  dashboard = await startDashboardEdge(service.core.port, { PUBLIC_URL: service.url });
  browser = await startBrowser();
  workspaces = createWorkspaceApi(service.clients.workspaces);
}, 120_000);
afterAll(async () => {
  await browser.close();
  await dashboard.edge.stop();
});
jest.setTimeout(120_000);

test("where there is no workspace yet, the page says how to begin", async () => {
  const { page, faults, leave } = await browser.visitSignedIn(dashboard.url);
  await page.getByRole("heading", { name: "No workspaces yet" }).waitFor();
  await page.getByRole("main").getByRole("link", { name: "Connect a workspace" }).last().click();
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
  expect(faults).toEqual([]);
  await leave();
});

// contract: secret-shown-once
test("connecting shows the secret once, and it is the one that signatures are made with", async () => {
  const { page, faults, leave } = await browser.visitSignedIn(dashboard.url, "/connect");
  await page.getByLabel("Name").fill("Acme");
  await page.getByLabel("Owner's e-mail").fill("ada@example.com");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("heading", { name: "Acme is connected" }).waitFor();
  const secret = await page.locator("[data-secret]").innerText();
  await page.getByRole("button", { name: "Copy the signing secret" }).click();
  await page.getByText("Copied the signing secret.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);

  const snippet = page.locator(".snippet pre");
  const settings = await snippet.innerText();
  const id = /WORKSPACE_ID=(\S+)/.exec(settings)?.[1] ?? "";
  expect(settings).toBe(`BASE_URL=${service.url}\nWORKSPACE_ID=${id}\nSIGNING_SECRET=${secret}`);
  expect((await poll(service.url, { id, secret })).status).toBe(200);
  await page.getByRole("button", { name: "Poll", exact: true }).click();
  expect(await snippet.innerText()).toContain(`${service.url}/hooks/${id}/events`);

  await page.getByRole("link", { name: "I have stored it" }).click();
  await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
  await page.getByRole("heading", { name: "Signing secrets" }).waitFor();
  expect(await page.content()).not.toContain(secret);
  await page.goBack();
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(faults).toEqual([]);
  await leave();
});

// contract: push-https, push-private
test.each([
  ["https://10.1.2.3/events", /10\.1\.2\.3/],
  ["http://bridge.example/events", /must begin with https/],
  ["https://user:word@bridge.example/", /user name or password/],
])("a target URL such as %s is refused with the reason, at its field", async (url, reason) => {
  const { page, leave } = await browser.visitSignedIn(dashboard.url, "/connect");
  await page.getByLabel("Name").fill("Refused");
  await page.getByRole("radio", { name: "It is pushed to" }).check();
  const field = page.getByLabel("Target URL");
  await field.fill(url);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("alert").filter({ hasText: reason }).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect((await workspaces.list(1_000)).workspaces.map(({ name }) => name)).not.toContain("Refused");
  await leave();
});

describe("with many workspaces", () => {
  const MANY = 60;
  beforeAll(async () => {
    for (let i = 1; i <= MANY; i++) {
      const { createdAt } = await workspaces.make({
        name: `Numbered ${i}`,
        ownerEmail: i === 3 ? "third@example.com" : "",
      });
      // Of two that were made in one ms, neither is newer.
      await until("the clock has gone on", () => Date.now() > (createdAt?.getTime() ?? Infinity));
    }
  });

  test("the list has a page after the other, newest first, and keeps its place", async () => {
    const { page, faults, leave } = await browser.visitSignedIn(dashboard.url);
    const names = page.locator("tbody .row-link");
    await names.getByText(`Numbered ${MANY}`, { exact: true }).waitFor();
    expect(await names.count()).toBe(25);
    const older = page.getByRole("button", { name: "Older" });
    await older.click();
    await names.getByText(`Numbered ${MANY - 25}`, { exact: true }).waitFor();
    await names.first().click();
    await page.getByRole("heading", { name: `Numbered ${MANY - 25}`, level: 1 }).waitFor();
    await page.goBack();
    await page.getByText("Page 2").waitFor();
    await older.click();
    await page.getByText("Page 3").waitFor();
    await names.getByText("Acme").waitFor();
    expect(await older.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByText("Page 2").waitFor();
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText("Page 1").waitFor();
    await page.getByLabel("Show").selectOption("100");
    // The number of a page is there before its rows are.
    await names.nth(MANY).waitFor();
    expect(await names.count()).toBe(MANY + 1);
    expect(faults).toEqual([]);
    await leave();
  });

  test("each has its mode and health at a glance", async () => {
    const polling = await workspaces.make({ name: "Polls now" });
    await poll(service.url, polling);
    const off = await workspaces.make({ name: "Off now" });
    await workspaces.disconnect(off.id);
    const { page, leave } = await browser.visitSignedIn(dashboard.url);
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    await row("Polls now").getByText("Polling").waitFor();
    await row("Off now").getByText("Disconnected").waitFor();
    await row(`Numbered ${MANY}`).getByText("Never polled").waitFor();
    expect(await row("Polls now").getByText("Poll", { exact: true }).count()).toBe(1);
    await leave();
  });

  test("searching looks through all of them, and says so", async () => {
    const { page, faults, leave } = await browser.visitSignedIn(dashboard.url);
    const box = page.getByRole("searchbox", { name: /^Search/ });
    await box.fill("numbered 3");
    await page.getByText(/^Looked through all \d+ workspaces: 11 found\.$/).waitFor();
    await box.fill("third@");
    await page.getByText(/: 1 found\.$/).waitFor();
    expect(await page.locator("tbody .row-link").allInnerTexts()).toEqual(["Numbered 3"]);
    // It is in the address, so it can be kept and shared.
    expect(page.url()).toContain("search=third");
    await box.fill("nothing is called this");
    await page.getByRole("heading", { name: "Nothing matches" }).waitFor();
    await box.fill("");
    await page.getByText("Page 1").waitFor();
    expect(faults).toEqual([]);
    await leave();
  });
});
