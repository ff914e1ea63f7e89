import type { Page } from "playwright-core";
import { status } from "../harness/behaviours";
import { PHONE, testBrowser, untilCount, untilFocused } from "../harness/browser";
import { update } from "../harness/contents";
import { eventIdOf, sharedPush, type PushedBridge } from "../harness/push";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const push = sharedPush();
const browser = testBrowser();
const { dashboardUrl } = push.service;
const LAPTOP = { width: 1280, height: 800 };

let page: Page;
beforeAll(async () => {
  ({ page } = await browser.visitSignedIn(dashboardUrl));
});

const rows = () => page.locator(".log-row");
const bar = () => page.getByRole("group", { name: "Send failed events again" });

/** Starts a bridge that rejects pushes, publishes events, and waits until the pushes of these events have failed. */
async function failingBridge(count: number): Promise<PushedBridge> {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503, { body: "the database is unavailable" }));
  await push.publish(...Array.from({ length: count }, () => ({ workspaceId, content: update("c1") })));
  await push.logged(workspaceId, count);
  return bridge;
}

async function open({ workspaceId }: PushedBridge): Promise<void> {
  await page.setViewportSize(LAPTOP);
  await page.goto(`${dashboardUrl}/workspaces/${workspaceId}`);
  await page.getByText("Live", { exact: true }).waitFor();
}

test("the details of a failed push show the response and the event, which can be sent again", async () => {
  const bridge = await failingBridge(1);
  const [failed] = bridge.requests;
  const id = failed && eventIdOf(failed);
  await open(bridge);
  const row = rows().first();
  await row.locator(".log-line").click();
  expect(await row.getByRole("region", { name: "The bridge's response" }).innerText()).toBe(
    "the database is unavailable",
  );
  const event = row.getByRole("region", { name: `Event ${id}` });
  expect(JSON.parse(await event.innerText())).toEqual(JSON.parse(String(failed?.body)));
  await row.getByRole("button", { name: "Copy the event", exact: true }).click();
  await page.getByRole("status").getByText("Copied the event.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(String(failed?.body));
  await row.getByText(/^Possible until \d/).waitFor();
  await expectUsable(page, "the details of a failed push", [PHONE, LAPTOP]);

  bridge.behave(status(204));
  await row.getByRole("button", { name: "Send again" }).click();
  await row.getByRole("status").getByText("Queued").waitFor();
  // The attempts of the event appear live in the open row, and the event can still be read.
  await row.locator(".attempts").getByText("Accepted 204").waitFor();
  await untilCount(event, 1);
  await row.getByRole("button", { name: "Send again" }).waitFor({ state: "detached" });
  const again = await bridge.nth(2);
  expect([eventIdOf(again), again.body.equals(failed?.body ?? Buffer.of())]).toEqual([id, true]);
  await row.locator(".log-line").click();
  await rows().first().getByText("Accepted 204").waitFor();
});

test("several failed events can be selected and sent again, and the page says how many were queued", async () => {
  const bridge = await failingBridge(3);
  await open(bridge);
  const boxes = rows().getByRole("checkbox");
  await boxes.nth(2).waitFor();
  await boxes.nth(0).check();
  await bar().getByText("1 selected").waitFor();
  await boxes.nth(0).uncheck();
  await bar().getByLabel("Select all failed events (3)").check();
  await bar().getByText("3 selected").waitFor();
  await boxes.nth(1).uncheck();
  await bar().getByText("2 selected").waitFor();
  await expectUsable(page, "the log with selected events", [PHONE, LAPTOP]);

  bridge.behave(status(204));
  await bar().getByRole("button", { name: "Send again" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Send 2 events again?" });
  await dialog.waitFor();
  await expectUsable(page, "the dialog that asks before several events are sent again", [PHONE, LAPTOP]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await untilFocused(page, "Send again");
  await bar().getByText("2 selected").waitFor();
  await page.keyboard.press("Enter");
  const failedOnes = bridge.requests.map((request) => eventIdOf(request));
  const asked = page.waitForRequest("**/send-again");
  await dialog.getByRole("button", { name: "Send again" }).click();
  const { eventIds } = (await asked).postDataJSON() as { eventIds: string[] };
  expect(eventIds).toEqual(failedOnes.filter((id) => eventIds.includes(id)));
  const results = page.getByRole("status").filter({ hasText: "2 events of 2 queued." });
  await results.waitFor();
  // Only events that were not queued are listed.
  await untilCount(results.getByRole("listitem"), 0);
  // The button has disappeared, so the focus moves to the results.
  const isInResults = "document.activeElement.closest('.sent-results') !== null";
  await until("the focus is on the results", () => page.evaluate<boolean>(isInResults));
  await page.getByText("5 push attempts").waitFor();
  await untilCount(rows().filter({ hasText: "Accepted 204" }), 2);
  // The event that was not selected can still be sent.
  await bar().getByText("Select all failed events (1)").waitFor();
  await until("one row can be selected", async () => (await boxes.count()) === 1);
  await results.getByRole("button", { name: "Close" }).click();
  await results.waitFor({ state: "detached" });
});

/** Lifetime of an event: long enough that core pushes the event before it expires, even on a slow machine. */
const LIFETIME_SECONDS = 15;

// time: smoke
test("`Select all` leaves out test events and expired events, and the page says how many", async () => {
  const bridge = await failingBridge(1);
  const { workspaceId } = bridge;
  const brief = { workspaceId, content: update("c1"), lifetime: { seconds: LIFETIME_SECONDS } };
  const [event] = await push.publish(brief);
  const expiry = event?.expiresAt?.getTime() ?? Infinity;
  await push.ping(workspaceId);
  await push.logged(workspaceId, 3);
  await until("the event has expired", () => Date.now() > expiry);
  await open(bridge);
  await bar().getByLabel("Select all failed events (1)").check();
  await bar()
    .getByText("Left out: 1 expired event and 1 test event. Most messages expire 10 minutes")
    .waitFor();
  await bar().getByText("1 selected").waitFor();
  // A test event can be selected on its own.
  await rows().filter({ hasText: "ping" }).getByRole("checkbox").check();
  await bar().getByText("2 selected").waitFor();
  await bar().getByRole("button", { name: "Send again" }).click();
  const dialog = page.getByRole("dialog", { name: "Send 2 events again?" });
  await dialog.getByText("Left out: 1 expired event and 1 test event.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await expectUsable(page, "the log with failed events that are left out", [PHONE, LAPTOP]);
});

test("if another user has sent an event again in the meantime, the page says that the event is no longer kept", async () => {
  const bridge = await failingBridge(1);
  await open(bridge);
  await bar().getByLabel("Select all failed events (1)").check();
  bridge.behave(status(204));
  // Another user sends the event again first, so the service no longer keeps the event when this page's request
  // arrives.
  await page.route("**/send-again", async (route) => {
    await route.fetch();
    await route.continue();
  });
  await bar().getByRole("button", { name: "Send again" }).click();
  await page.getByText("0 events of 1 queued.").waitFor();
  await page.getByText(/No longer kept: it was already sent again/).waitFor();
  await page.unroute("**/send-again");
});

test("an event that fails again can be sent again; a new failure appears without a reload", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(500));
  await open(bridge);
  await untilCount(bar(), 0);
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  await bar().getByLabel("Select all failed events (1)").check();
  await bar().getByRole("button", { name: "Send again" }).click();
  await page.getByText("2 push attempts").waitFor();
  await bar().getByText("Select all failed events (1)").waitFor();
  // Only the newest attempt of an event has a checkbox.
  await until("one row can be selected", async () => (await rows().getByRole("checkbox").count()) === 1);
});

test("while the bridge polls or the workspace is disconnected, nothing can be sent again, and the page says why", async () => {
  const bridge = await failingBridge(1);
  const { workspaceId } = bridge;
  const states = [
    [() => push.workspaces.setTargetUrl(workspaceId, ""), /The bridge polls: set a target URL/],
    [() => push.workspaces.disconnect(workspaceId), /The workspace is disconnected: connect it/],
  ] as const;
  for (const [change, why] of states) {
    await change();
    await page.goto(`${dashboardUrl}/workspaces/${workspaceId}`);
    await bar().getByText(why).waitFor();
    expect(await bar().getByRole("button", { name: "Send again" }).isDisabled()).toBe(true);
    await untilCount(rows().getByRole("checkbox"), 0);
    const row = rows().first();
    await row.locator(".log-line").click();
    await row.getByText(why).waitFor();
    expect(await row.getByRole("button", { name: "Send again" }).isDisabled()).toBe(true);
  }
});
