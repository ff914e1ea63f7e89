import type { Page } from "playwright-core";
import { DESKTOP, focusedWords, PHONE, testBrowser, untilCount } from "../harness/browser";
import { joinChat } from "../harness/chat-member";
import { joinChatPage } from "../harness/chat-player";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const browser = testBrowser();
let demo: DemoChat;
beforeAll(async () => void (demo = await startDemoChat({}, {}, true)));
afterEach(async () => {
  const member = await joinChat(demo.url, "Repairer");
  await member.ask("DELETE", "/link/break");
  member.leave();
});
afterAll(() => demo.close());

/** Clicks, and returns the page that opens in a second window. */
async function opened(page: Page, click: () => Promise<void>): Promise<Page> {
  const [beside] = await Promise.all([page.context().waitForEvent("page"), click()]);
  return beside;
}

test.each([
  ["Wrong secret", "The bridge answered with 401", "Wrong secret"],
  ["Slow bridge", "did not answer within 5 seconds", "Too slow"],
  ["Answer 503", "The bridge answered with 503", "Answers 503"],
  ["Clock 6 minutes off", "The bridge answered with 409", "Wrong clock"],
  ["Cut the network", "No connection could be made|was cut off|TLS handshake failed", "Network cut"],
])(
  "%s: the dashboard opens signed in, and says what is wrong; the other members see a hint; after the repair, the bridge recovers",
  async (how, advice, words) => {
    const ada = await joinChatPage(browser, demo.url, "Ada", DESKTOP);
    const bob = await joinChatPage(browser, demo.url, "Bob", PHONE);
    await ada.openBridge();
    await ada.bridge.getByRole("radio", { name: /^Push/ }).click();
    await ada.page.getByRole("button", { name: "Bridge: Push" }).waitFor();

    const dashboard = await opened(ada.page, () => ada.bridge.getByRole("button", { name: how }).click());
    await dashboard.getByText("Failing", { exact: true }).first().waitFor();
    await dashboard.getByText(new RegExp(advice)).first().waitFor();
    expect(dashboard.url()).toBe(`${demo.dashboardUrl}/workspaces/${demo.workspace.id}`);
    await dashboard.locator(".token-name").getByText("demo-chat").waitFor();
    await ada.page.getByRole("button", { name: `Bridge: ${words}` }).waitFor();
    await bob.page.getByText("Ada broke the bridge.").waitFor();
    await expectUsable(bob.page, `broken, ${how}`, [PHONE]);

    // The chat's page stays usable while the bridge is broken.
    await bob.type(`hello despite ${how}`);
    await ada.sees(`hello despite ${how}`);

    await bob.page.getByRole("button", { name: "Repair" }).click();
    await ada.page.getByRole("button", { name: "Bridge: Push" }).waitFor();
    await untilCount(bob.page.getByText("Ada broke the bridge."), 0);
    await dashboard.getByRole("button", { name: "Send test event" }).click();
    // A bridge that was broken twice within five minutes is degraded at first.
    await dashboard
      .getByText(/^(?:Recovered|Degraded)$/)
      .first()
      .waitFor();
    await dashboard.close();
  },
);

test("on a laptop and on a phone, the button that opens the panel says that the bridge can be broken", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    const { page, bridge } = await joinChatPage(browser, demo.url, "Eve", viewport);
    const names = viewport === PHONE ? "Bridge · Break it" : /^Bridge: (?:Polling|Push) · Break it$/;
    await page.getByRole("button", { name: names, exact: true }).click();
    await bridge.getByRole("heading", { name: "Break it" }).waitFor();
    await page.setViewportSize({ width: 320, height: 640 });
    await bridge.getByRole("button", { name: "Close" }).click();
    await expectUsable(page, "closed panel", [{ width: 320, height: 640 }, viewport]);
  }
});

test("later links reuse the dashboard's window; a recorded push links to the page of its event, which links back to the push", async () => {
  const { page, context, bridge, openBridge } = await joinChatPage(browser, demo.url, "Cyd", DESKTOP);
  await openBridge();
  const dashboard = await opened(page, () => bridge.getByRole("button", { name: "Answer 503" }).click());
  const workspacePage = `${demo.dashboardUrl}/workspaces/${demo.workspace.id}`;
  await dashboard.waitForURL(workspacePage);
  // An entry begins with its direction, and ends with its time and its status.
  const failed = bridge.getByRole("listitem").filter({ hasText: /^Push.*\d\d:\d\d:\d\d503$/ });
  await failed.first().locator("summary").click();
  await bridge
    .getByRole("link", { name: /in the dashboard/ })
    .first()
    .click();
  await dashboard.waitForURL(/\/events\/evt_\w+$/);
  const [, event = ""] = /events\/(evt_\w+)$/.exec(dashboard.url()) ?? [];
  await dashboard.getByRole("link", { name: "Show the event on the wire" }).waitFor();
  await expectUsable(dashboard, "an event of the demo", [DESKTOP]);
  await bridge.getByRole("link", { name: "Open the dashboard" }).click();
  await dashboard.waitForURL(workspacePage);
  expect(context.pages()).toHaveLength(2);
  await bridge
    .getByRole("link", { name: /in the dashboard/ })
    .first()
    .click();

  await bridge.getByRole("button", { name: "Close" }).click();
  await dashboard.getByRole("link", { name: "Show the event on the wire" }).click();
  await bridge.getByLabel("Request").waitFor();
  expect(await bridge.getByLabel("Request").innerText()).toContain(event);
  expect(await focusedWords(page)).toMatch(/^Push/);
  expect(context.pages()).toHaveLength(2);
  expect(page.url()).toBe(`${demo.url}/`);
  await bridge.getByRole("button", { name: "Repair" }).click();
});

test("the bridge can be broken and repaired with the keyboard alone, and the panel is usable in both states", async () => {
  const { page, bridge, openBridge } = await joinChatPage(browser, demo.url, "Dee", DESKTOP);
  await openBridge();
  await bridge.getByRole("button", { name: "Wrong secret" }).focus();
  const dashboard = await opened(page, () => page.keyboard.press("Enter"));
  await dashboard.getByText("Failing", { exact: true }).first().waitFor();
  await page.bringToFront();
  await bridge.getByRole("button", { name: "Repair" }).waitFor();
  const chosen = bridge.getByRole("button", { name: "Wrong secret" });
  expect([await chosen.getAttribute("aria-pressed"), await focusedWords(page)]).toEqual([
    "true",
    "Wrong secret",
  ]);
  await expectUsable(page, "a broken bridge", [PHONE, { width: 320, height: 640 }, DESKTOP]);
  const toRepair = async () => {
    await page.keyboard.press("Tab");
    return (await focusedWords(page)) === "Repair";
  };
  await until("the focus is on Repair", toRepair);
  await page.keyboard.press("Enter");
  await untilCount(bridge.getByRole("button", { name: "Repair" }), 0);
  // The button that had the focus has disappeared, so the focus moves to the heading of the section.
  await until("the focus stays in the section", async () => (await focusedWords(page)) === "Break it");
  await expectUsable(page, "a repaired bridge", [DESKTOP]);
});
