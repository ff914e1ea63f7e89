import { isDeepStrictEqual } from "node:util";
import type { Page } from "playwright-core";
import { poll } from "../harness/bridge";
import { DESKTOP, PHONE, testBrowser, untilCount, untilFocused } from "../harness/browser";
import { dashboardUrlOf } from "../harness/dashboard";
import { deliveryOf } from "../harness/push-queue";
import { startService, type TestService } from "../harness/service";
import { openTestStore, type TestStore } from "../harness/store";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const TARGET = "https://8.8.8.8/events";
// These tests count all workspaces, so they use a separate service, where no other test creates workspaces.
let service: TestService;
let store: TestStore;
let dashboardUrl: string;
const browser = testBrowser();
const ids: Record<string, string> = {};

beforeAll(async () => {
  service = await startService({ edge: { DASHBOARD_LISTEN: "127.0.0.1:0" } });
  dashboardUrl = dashboardUrlOf(service.edge);
  store = await openTestStore(service.redis.url);
  for (const name of ["Never used", "Chess club", "Trivia night"]) {
    const targetUrl = name === "Never used" ? "" : TARGET;
    ids[name] = (await service.workspaces.make({ name, targetUrl })).id;
  }
  await log("Chess club", 503);
  await log("Trivia night", 204);
  const polled = await service.workspaces.make({ name: "<b>פיצה</b> guild" });
  await poll(service.url, polled);
  await service.workspaces.disconnect((await service.workspaces.make({ name: "Old team" })).id);
});
afterAll(async () => {
  await store.close();
  await service.close();
});

async function log(name: string, status: number): Promise<void> {
  const result = status < 300 ? "success" : "status";
  const delivery = deliveryOf({ eventId: "evt_1", eventType: "message.create" }, 1, result);
  await store.deliveryLog.append(ids[name] ?? "", { ...delivery, status });
}

const namesOf = (page: Page) => page.locator("tbody .row-link").allInnerTexts();

/** Waits for exactly these rows: the count above the list can change just before the rows do. */
const untilListed = (page: Page, names: readonly string[]) =>
  until(`the list contains ${names.join(", ")}`, async () => isDeepStrictEqual(await namesOf(page), names));
const rowOf = (page: Page, name: string) =>
  page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
const chip = (page: Page, name: RegExp) =>
  page.getByRole("navigation", { name: "States" }).getByRole("link", { name });
const iconOf = (page: Page) => page.evaluate<string>("document.querySelector('link[rel=icon]').href");

test("the list begins with the failing workspaces, and shows the last contact and the last hour of each workspace", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await rowOf(page, "Chess club").waitFor();
  expect(await namesOf(page)).toEqual([
    "Chess club",
    "<b>פיצה</b> guild",
    "Trivia night",
    "Never used",
    "Old team",
  ]);
  await rowOf(page, "Chess club").getByText("Failing").waitFor();
  await rowOf(page, "Chess club")
    .getByText(/ · 503$/)
    .waitFor();
  await rowOf(page, "<b>פיצה</b> guild")
    .getByText(/ · poll$/)
    .waitFor();
  await rowOf(page, "Never used").getByText("never", { exact: true }).waitFor();
  await rowOf(page, "Never used").getByText("In the last hour: no requests").waitFor();
  await rowOf(page, "<b>פיצה</b> guild").getByText("In the last hour: 1 poll").waitFor();
  await page.getByText("5 workspaces", { exact: true }).waitFor();
  expect(await page.title()).toBe("(1) Workspaces · Chat bridge");
  expect(await iconOf(page)).toMatch(/\/favicon-failing\.svg$/);
  await page.getByRole("link", { name: "Connect", exact: true }).click();
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
  expect(await page.title()).toBe("(1) Connect a workspace · Chat bridge");
});

test("each state has a link with its number of workspaces; the URL contains the chosen state and the search", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await chip(page, /^Failing 1$/).click();
  await page.getByText("1 workspace with the state Failing").waitFor();
  await untilListed(page, ["Chess club"]);
  expect(new URL(page.url()).search).toBe("?state=failing");
  await page.reload();
  await page.getByText("1 workspace with the state Failing").waitFor();
  expect(await chip(page, /^Failing/).getAttribute("aria-current")).toBe("page");
  await page.getByRole("searchbox").fill("trivia");
  await page.getByText("Searched all 1 workspace with the state Failing: 0 found.").waitFor();
  expect(new URL(page.url()).search).toBe("?state=failing&search=trivia");
  await chip(page, /^Healthy 2$/).click();
  await rowOf(page, "Trivia night").getByText("Healthy").waitFor();
  await untilListed(page, ["Trivia night"]);
  await chip(page, /^All 5$/).click();
  await page.goto(`${dashboardUrl}/?state=degraded`);
  await page.getByText("No workspace has the state Degraded.").waitFor();
  await page.goto(`${dashboardUrl}/?state=no-state`);
  await page.getByText("5 workspaces", { exact: true }).waitFor();
});

test("while a user reads the list, a changed row keeps its place until the user updates the list", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await rowOf(page, "Never used").waitFor();
  const before = await namesOf(page);
  const top = (await rowOf(page, "Trivia night").boundingBox())?.y;
  await log("Trivia night", 500);
  await rowOf(page, "Trivia night").getByText("Failing").waitFor();
  await chip(page, /^Failing 2$/).waitFor();
  await until("the title has the new number", async () => (await page.title()).startsWith("(2) "));
  expect(await namesOf(page)).toEqual(before);
  const update = page.getByRole("button", { name: "1 change: update the list" });
  await update.waitFor();
  expect((await rowOf(page, "Trivia night").boundingBox())?.y).toBe(top);
  await update.click();
  await until("the list is updated", async () => (await namesOf(page))[0] === "Trivia night");
  await untilCount(update, 0);
  await log("Trivia night", 204);
  await rowOf(page, "Trivia night").getByText("Recovered").waitFor();
  await chip(page, /^Recovered 1$/).waitFor();
  // Nobody reads a hidden page, so its list is updated when the page becomes visible again.
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await until("the list is updated", async () => (await namesOf(page))[0] === "Chess club");
});

test("the icon and the title show that no workspace is failing any more, even on a page other than the list", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl, "/connect");
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
  await until("the title has the number", async () => (await page.title()).startsWith("(1) "));
  await log("Chess club", 204);
  await until("the title has no number", async () => (await page.title()).startsWith("Connect"));
  expect(await iconOf(page)).toMatch(/\/favicon\.svg$/);
  await log("Chess club", 503);
});

test("until the first answer, grey rows stand in for the list, and no row shows a state", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/workspaces?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${dashboardUrl}/?state=failing`);
  await page.locator(".skeleton").first().waitFor();
  await page.getByText("Loading workspaces …").waitFor({ state: "attached" });
  expect(await page.getByText("Not known yet").count()).toBe(0);
  expect(await page.locator(".badge").count()).toBe(0);
  answer();
  await rowOf(page, "Chess club").waitFor();
  expect(await page.locator(".skeleton").count()).toBe(0);
});

test("the states can be chosen with the keyboard", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await rowOf(page, "Chess club").waitFor();
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Tab");
  await untilFocused(page, "All 5");
  await page.keyboard.press("Tab");
  await untilFocused(page, "Failing 1");
  await page.keyboard.press("Enter");
  await page.getByText("1 workspace with the state Failing").waitFor();
  await untilFocused(page, "Failing 1");
});

test("the list is usable at all widths; in narrow windows, each row looks like a card, but is still a table row for screen readers", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await rowOf(page, "Chess club").waitFor();
  for (const path of ["/", "/?state=failing", "/?search=guild", "/?state=degraded"]) {
    await page.goto(`${dashboardUrl}${path}`);
    await chip(page, /^All 5$/).waitFor();
    await untilCount(page.locator(".skeleton"), 0);
    const zoomed = [200, 400].map((percent) => ({ width: 1280 / (percent / 100), height: 500 }));
    await expectUsable(page, `the list at ${path}`, [...zoomed, PHONE, DESKTOP]);
  }
  await page.goto(dashboardUrl);
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 600 });
    await untilCount(page.getByRole("rowheader"), 5);
    await untilCount(page.getByRole("columnheader"), 5);
    await untilCount(page.getByRole("cell"), 20);
  }
});
