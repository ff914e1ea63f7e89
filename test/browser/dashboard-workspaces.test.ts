import type { Page } from "playwright-core";
import { beforeFirstPaint, testBrowser, untilCount } from "../harness/browser";
import { poll } from "../harness/bridge";
import { dashboardUrlOf } from "../harness/dashboard";
import { startService, type TestService } from "../harness/service";
import { until } from "../harness/wait";

const PUBLIC_URL = "https://bridges.example";
// These tests list all workspaces, so they use a separate service, where no other test creates workspaces.
let service: TestService;
let dashboardUrl: string;
let page: Page;
const browser = testBrowser();
beforeAll(async () => {
  service = await startService({ edge: { DASHBOARD_LISTEN: "127.0.0.1:0", PUBLIC_URL } });
  dashboardUrl = dashboardUrlOf(service.edge);
  ({ page } = await browser.visitSignedIn(dashboardUrl));
});
afterAll(() => service.close());
beforeEach(() => page.goto(dashboardUrl));

test("without any workspace, the page shows how to start", async () => {
  await page.getByRole("heading", { name: "No workspaces yet" }).waitFor();
  await page.getByRole("main").getByRole("link", { name: "Connect a workspace" }).last().click();
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
});

// contract: secret-shown-once
test("connecting a workspace shows the signing secret once", async () => {
  await page.goto(`${dashboardUrl}/connect`);
  await page.getByLabel("Name").fill("Acme");
  await page.getByLabel("Owner's email").fill("ada@example.com");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("heading", { name: "Acme is connected" }).waitFor();
  const secret = await page.locator("[data-secret]").innerText();
  await page.getByRole("button", { name: "Copy the signing secret" }).click();
  await page.getByText("Copied the signing secret.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);

  const snippet = page.locator(".snippet pre");
  const settings = await snippet.innerText();
  const id = /WORKSPACE_ID=(\S+)/.exec(settings)?.[1] ?? "";
  expect(settings).toBe(`BASE_URL=${PUBLIC_URL}\nWORKSPACE_ID=${id}\nSIGNING_SECRET=${secret}`);
  expect((await poll(service.url, { id, secret })).status).toBe(200);
  await page.getByRole("button", { name: "Poll", exact: true }).click();
  expect(await snippet.innerText()).toContain(`${PUBLIC_URL}/hooks/${id}/events`);

  await page.getByRole("link", { name: "Open the workspace" }).click();
  await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Signing secrets" }).waitFor();
  expect(await page.content()).not.toContain(secret);
  await page.goBack();
  await page.goBack();
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
  expect(await page.content()).not.toContain(secret);
});

// contract: push-https, push-private
test.each([
  ["https://10.1.2.3/events", /10\.1\.2\.3/],
  ["http://bridge.example/events", /must begin with https/],
])("the target URL %s is rejected, with the reason next to the field", async (url, reason) => {
  await page.goto(`${dashboardUrl}/connect`);
  await page.getByLabel("Name").fill("Refused");
  await page.getByRole("radio", { name: /^Push \(webhook\)/ }).check();
  const field = page.getByLabel("Target URL");
  await field.fill(url);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("alert").filter({ hasText: reason }).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect((await service.workspaces.list(1_000)).workspaces.map(({ name }) => name)).not.toContain("Refused");
});

describe("with many workspaces", () => {
  const MANY = 60;
  beforeAll(async () => {
    for (let i = 1; i <= MANY; i++) {
      const { createdAt } = await service.workspaces.make({
        name: `Numbered ${i}`,
        ownerEmail: i === 3 ? "third@example.com" : "",
      });
      // Workspaces that are created in the same millisecond have no defined order.
      await until("the clock has advanced", () => Date.now() > (createdAt?.getTime() ?? Infinity));
    }
  });

  test("the list has pages, and shows the newest workspaces of each state first; going back from a workspace shows the same page again", async () => {
    const names = page.locator("tbody .row-link");
    // The bridge of this workspace has polled, so its state is more urgent than that of the others.
    await names.first().getByText("Acme").waitFor();
    await names.getByText(`Numbered ${MANY}`, { exact: true }).waitFor();
    await untilCount(names, 25);
    const next = page.getByRole("button", { name: "Next" });
    await next.click();
    await names.getByText(`Numbered ${MANY - 24}`, { exact: true }).waitFor();
    await names.first().click();
    await page.getByRole("heading", { name: `Numbered ${MANY - 24}`, level: 1 }).waitFor();
    await page.goBack();
    await page.getByText("Page 2").waitFor();
    await next.click();
    await page.getByText("Page 3").waitFor();
    await names.getByText("Numbered 1", { exact: true }).waitFor();
    expect(await next.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByText("Page 2").waitFor();
    await page.getByRole("button", { name: "First" }).click();
    await page.getByText("Page 1").waitFor();
    await page.getByLabel("Show").selectOption("100");
    // The page number is shown before the rows have loaded.
    await names.nth(MANY).waitFor();
    await untilCount(names, MANY + 1);
  });

  test("the list shows the mode and the health of each workspace", async () => {
    await poll(service.url, await service.workspaces.make({ name: "Polls now" }));
    await service.workspaces.disconnect((await service.workspaces.make({ name: "Off now" })).id);
    await page.goto(dashboardUrl);
    const row = (name: string) =>
      page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
    await row("Polls now").getByText("Healthy").waitFor();
    await row("Off now").getByText("Disconnected").waitFor();
    await row(`Numbered ${MANY}`).getByText("Never polled").waitFor();
    await untilCount(row("Polls now").getByText("Poll", { exact: true }), 1);
  });

  test("a search covers all workspaces, and shows how many workspaces it searched and found", async () => {
    const box = page.getByRole("searchbox", { name: /^Search/ });
    await box.fill("numbered 3");
    await page.getByText(/^Searched all \d+ workspaces: 11 found\.$/).waitFor();
    await box.fill("third@");
    await page.getByText(/: 1 found\.$/).waitFor();
    expect(await page.locator("tbody .row-link").allInnerTexts()).toEqual(["Numbered 3"]);
    // The page's URL contains the search, so users can bookmark and share it.
    expect(page.url()).toContain("search=third");
    await box.fill("");
    await page.getByText("Page 1").waitFor();
  });

  test("text that is typed while the page is still being drawn stays in the search box", async () => {
    const { page } = await browser.visitSignedIn(dashboardUrl);
    const type =
      'element.value = "numbered 3"; element.dispatchEvent(new Event("input", { bubbles: true }));';
    await beforeFirstPaint(page, "input[type=search]", type);
    await page.reload();
    await page.getByText(/^Searched all \d+ workspaces: 11 found\.$/).waitFor();
  });

  test("if a search starts between two typed words, the space stays in the search box", async () => {
    const box = page.getByRole("searchbox", { name: /^Search/ });
    await box.pressSequentially("numbered ");
    await page.waitForURL(/search=numbered$/);
    await box.pressSequentially("3");
    await page.getByText(/^Searched all \d+ workspaces: 11 found\.$/).waitFor();
    expect(await box.inputValue()).toBe("numbered 3");
  });
});
