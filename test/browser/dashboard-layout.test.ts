import type { Locator, Page } from "playwright-core";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { DESKTOP, PHONE, testBrowser, untilCount, untilFocused } from "../harness/browser";
import { create, update } from "../harness/contents";
import { sharedPush, type PushedBridge } from "../harness/push";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const push = sharedPush();
const browser = testBrowser();
const { dashboardUrl } = push.service;
const SMALL = { width: 320, height: 640 };
/** A laptop's window at a zoom of 200 percent. */
const ZOOMED = { width: 640, height: 450 };
const HEIGHT_MAX = 2_000;
const TEST_CARD_HEIGHT_MAX = 220;

let page: Page;
let busy: PushedBridge;
beforeAll(async () => {
  ({ page } = await browser.visitSignedIn(dashboardUrl));
  busy = await push.bridge();
  const { workspaceId } = busy;
  await push.publish(...Array.from({ length: 45 }, () => ({ workspaceId, content: create("general") })));
  await push.logged(workspaceId, 45);
});
beforeEach(() => page.setViewportSize(DESKTOP));

const pathOf = (workspaceId: string): string => `/workspaces/${workspaceId}`;
const isLive = (where = page) => where.getByText("Live", { exact: true }).waitFor();
const boxOf = async (element: Locator) => {
  const box = await element.boundingBox();
  if (box === null) throw new Error("the element is not visible");
  return box;
};

async function open(workspaceId: string, more = ""): Promise<void> {
  await page.goto(`${dashboardUrl}${pathOf(workspaceId)}${more}`);
  await isLive();
}

test("the tabs of a workspace's page are links with URLs, and work with the keyboard, a reload and the back button", async () => {
  await open(busy.workspaceId);
  const tabs = page.getByRole("navigation", { name: "This workspace" });
  const tab = (name: string) => tabs.getByRole("link", { name });
  expect(await tab("Overview").getAttribute("aria-current")).toBe("page");
  await untilCount(page.locator(".settings"), 0);
  await tab("Overview").focus();
  await page.keyboard.press("Tab");
  await untilFocused(page, "Settings");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**${pathOf(busy.workspaceId)}/settings`);
  await page.getByRole("heading", { name: "Signing secrets" }).waitFor();
  expect([await tab("Settings").getAttribute("aria-current"), await page.title()]).toEqual([
    "page",
    expect.stringMatching(/^(?:\(\d+\) )?Settings · /),
  ]);
  await untilCount(page.locator(".log"), 0);
  // The tab keeps the focus, so that the next press of the Tab key reaches the cards.
  await untilFocused(page, "Settings");
  await page.reload();
  await isLive();
  const cards = await page.locator("main .card h2").allInnerTexts();
  expect(cards).toEqual([
    "Target URL",
    "Signing secrets",
    "About",
    "Operator events",
    "Changes",
    "Disconnect or delete",
  ]);
  await page.goBack();
  await page.locator(".log-row").first().waitFor();
});

test.each(["", "/settings"])(
  "the tab %p fits a small phone, a phone, a zoomed window and a laptop, in both themes",
  async (tab) => {
    await open(busy.workspaceId, tab);
    await expectUsable(page, `tab ${tab}`, [SMALL, PHONE, ZOOMED, DESKTOP]);
  },
);

test("in forced-colours mode, the current tab, the series of the chart and the states can still be told apart", async () => {
  await open(busy.workspaceId);
  await page.locator(".log-row").first().waitFor();
  await page.emulateMedia({ forcedColors: "active" });
  const styles = (selector: string, name: string) =>
    page.evaluate<readonly string[]>(
      `[...document.querySelectorAll("${selector}")].map((each) => getComputedStyle(each).${name})`,
    );
  const borders = await styles(".page-tabs a", "borderBottomColor");
  expect(new Set(borders).size).toBe(2);
  expect(new Set(await styles(".legend .swatch", "backgroundColor")).size).toBeGreaterThan(2);
  await page.emulateMedia({ forcedColors: "none" });
});

test("a printed page shows the health and the log, but no controls", async () => {
  await open(busy.workspaceId);
  await page.locator(".log-row").first().waitFor();
  await page.emulateMedia({ media: "print" });
  for (const shown of [".health", ".traffic", ".log"])
    expect(await page.locator(shown).isVisible()).toBe(true);
  for (const hidden of [".page-tabs", ".filters", ".pager", ".masthead nav", ".footer"]) {
    expect({ hidden, isVisible: await page.locator(hidden).first().isVisible() }).toEqual({
      hidden,
      isVisible: false,
    });
  }
  await page.emulateMedia({ media: "screen" });
});

test("on a laptop, the page of a busy workspace is less than 2,000 px high, and the test event's card is as high as its content", async () => {
  const polling = await push.workspaces.make({ name: "Busy polls" });
  const { id: workspaceId } = polling;
  for (let i = 0, next = ""; i < 22; i++) {
    await push.publish({ workspaceId, content: create("general") });
    ({ next } = (await poll(push.service.url, polling, next && `after=${next}`)).json as { next: string });
  }
  const failing = await push.bridge();
  const event = { workspaceId: failing.workspaceId, content: create("general") };
  await push.publish(...Array.from({ length: 30 }, () => event));
  await failing.waitFor(30);
  failing.behave(status(503));
  await push.publish({ workspaceId: failing.workspaceId, content: update("general") });
  await push.logged(failing.workspaceId, 31);
  for (const each of [busy.workspaceId, workspaceId, failing.workspaceId]) {
    await open(each);
    await untilCount(page.locator(".log-row"), 20);
    expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThan(HEIGHT_MAX);
    expect((await boxOf(page.locator(".test-event"))).height).toBeLessThan(TEST_CARD_HEIGHT_MAX);
  }
});

test("the page shows no chart without data, and no latency chart for a bridge that never accepted a push", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503));
  await push.ping(workspaceId);
  await open(workspaceId);
  const traffic = page.locator(".traffic");
  await traffic.getByRole("img", { name: /Accepted pushes: 0, Failed attempts: 1/ }).waitFor();
  await untilCount(traffic.getByText("Latency of accepted pushes"), 0);
  await untilCount(traffic.locator(".chart"), 1);
  bridge.behave(status(204));
  await push.ping(workspaceId);
  await traffic.getByText("Latency of accepted pushes").waitFor();

  const polling = await push.workspaces.make();
  await poll(push.service.url, polling);
  await open(polling.id);
  await traffic.getByText("The bridge polled (1 poll), and no events were waiting.").waitFor();
  await untilCount(traffic.locator(".chart"), 0);
});

// time: controlled
test("the chart of a bridge that polls shows the events that it fetched, and the minutes in which it did not poll", async () => {
  const polling = await push.workspaces.make();
  const { id: workspaceId } = polling;
  await push.publish(
    { workspaceId, content: create("general") },
    { workspaceId, content: create("general") },
  );
  await poll(push.service.url, polling);
  const { page: later } = await browser.visitSignedIn(dashboardUrl);
  await later.clock.install({ time: Date.now() + 10 * 60_000 });
  await later.goto(`${dashboardUrl}${pathOf(workspaceId)}`);
  const name = /Events fetched: 2, Minutes without polls: (?:8|9), Polls: 1\.$/;
  await later.getByRole("img", { name }).waitFor();
});

describe("a new workspace:", () => {
  const steps = (where: Page) => where.getByRole("heading", { name: "What to do next" });

  // time: controlled
  test("the setup steps disappear once a bridge that only receives pushes has worked for an hour", async () => {
    const bridge = await push.bridge();
    await push.ping(bridge.workspaceId);
    await open(bridge.workspaceId);
    await steps(page).waitFor();
    const { page: later } = await browser.visitSignedIn(dashboardUrl);
    await later.clock.install({ time: Date.now() + 61 * 60_000 });
    await later.goto(`${dashboardUrl}${pathOf(bridge.workspaceId)}`);
    await isLive(later);
    await later.locator(".log-row").first().waitFor();
    await untilCount(steps(later), 0);
  });

  test("the setup steps disappear once the bridge has accepted many pushes", async () => {
    await open(busy.workspaceId);
    await page.locator(".log-row").first().waitFor();
    await untilCount(steps(page), 0);
  });
});

test("when a card of the settings grows, the cards in other columns do not move", async () => {
  const workspace = await push.workspaces.make();
  await open(workspace.id, "/settings");
  await page.locator(".changes li").first().waitFor();
  const cards = page.locator(".settings .card");
  const places = async () =>
    Promise.all(
      (await cards.all()).map(async (card) => {
        const { x, y } = await boxOf(card);
        return [await card.locator("h2").innerText(), Math.round(x), Math.round(y)];
      }),
    );
  const before = await places();
  await page.getByLabel("Failures and recoveries are reported to").fill(busy.url);
  await page.getByRole("button", { name: "Set address" }).click();
  await page.getByText("Give this secret to the receiver").waitFor();
  expect(await places()).toEqual(before);
});

test("after a rotation of the secret, only one button confirms that the secret is stored", async () => {
  const workspace = await push.workspaces.make();
  await open(workspace.id, "/settings");
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  await page.locator("[data-secret]").waitFor();
  // The secret stays visible when the user switches to the other tab of the workspace's page.
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("button", { name: "I have stored the secret" }).waitFor();
  await page.locator("[data-secret]").waitFor();
  await untilCount(page.getByRole("button", { name: /stored/ }), 1);
  await page.getByRole("button", { name: "Hide the secret" }).click();
  await page.locator("[data-secret]").waitFor({ state: "detached" });
});

test("the page's title shows that a workspace is failing, so the user sees it even in another browser tab", async () => {
  const bridge = await push.bridge();
  await open(bridge.workspaceId);
  // The title begins with the number of failing workspaces, if any.
  expect(await page.title()).toMatch(/^(?:\(\d+\) )?test · /);
  bridge.behave(status(503));
  await push.ping(bridge.workspaceId);
  await until("the title has a mark", async () => (await page.title()).startsWith("(!) test · "));
});
