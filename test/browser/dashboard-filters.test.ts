import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { DESKTOP, PHONE, testBrowser, untilCount, untilFocused } from "../harness/browser";
import { create, dm, update } from "../harness/contents";
import { sharedPush, type PushedBridge } from "../harness/push";
import { testFolder } from "../harness/folder";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const push = sharedPush();
const browser = testBrowser();
const { dashboardUrl } = push.service;
const folder = testFolder();
const SMALL = { width: 320, height: 640 };
const OLD_ID = "msg_01J0ABCDEFGHJKMNPQRSTVWXYZ";

const card = (text: string, id = "") => ({ kind: MessageKind.CARD, text, ...(id !== "" && { id }) });

let page: Page;
let bridge: PushedBridge;
/** The ids of the events, in the order of their publication. */
let ids: readonly string[];
beforeAll(async () => {
  ({ page } = await browser.visitSignedIn(dashboardUrl));
  bridge = await push.bridge();
  const { workspaceId } = bridge;
  const made = await push.publish(
    { workspaceId, content: create("general", card("Who is in?")) },
    { workspaceId, content: create("random", card("A new round")) },
    { workspaceId, content: dm("ada", card("Your score is 7")) },
    { workspaceId, content: update("general", card("The board", OLD_ID)) },
  );
  ids = made.map(({ eventId }) => eventId);
  await push.logged(workspaceId, 4);
});
beforeEach(() => page.setViewportSize(DESKTOP));

const rows = (where = page) => where.locator(".log-row");
const names = (where = page) => where.locator(".log-type").allInnerTexts();
const query = () => new URL(page.url()).searchParams;

async function open(workspaceId = bridge.workspaceId, search = ""): Promise<void> {
  await page.goto(`${dashboardUrl}/workspaces/${workspaceId}${search}`);
  await page.getByText("Live", { exact: true }).waitFor();
  await rows().first().waitFor();
}

test("each row shows its message, its time with milliseconds, and the end of the event's id", async () => {
  await open();
  await untilCount(rows(), 4);
  expect(new Set(await names())).toEqual(
    new Set([
      "#general · Who is in?",
      "#random · A new round",
      "@ada · Your score is 7",
      "#general · The board",
    ]),
  );
  const row = rows().filter({ hasText: "The board" });
  expect(await row.innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}\s/);
  await row.getByText("message.update").waitFor();
  await row.getByText(ids[3]?.slice(-6) ?? "?").waitFor();
});

test("the log is filtered by channel, text, message id and time; the URL contains the filters", async () => {
  await open();
  const matches = (count: number) => page.getByText(`${count} of 4 match.`).waitFor();
  await page.getByLabel("Channel").selectOption("general");
  await matches(2);
  await page.getByRole("searchbox", { name: "Text" }).fill("board");
  await matches(1);
  expect(await names()).toEqual(["#general · The board"]);
  expect([query().get("channel"), query().get("text")]).toEqual(["general", "board"]);
  await page.getByLabel("Channel").selectOption("");
  await page.getByRole("searchbox", { name: "Text" }).fill("ADA");
  await matches(1);
  await page.getByRole("button", { name: "Show all" }).click();

  // The button More shows the filters that are used less often.
  const more = page.getByRole("button", { name: "More" });
  expect(await more.getAttribute("aria-expanded")).toBe("false");
  await more.click();
  await page.getByRole("searchbox", { name: "Message id" }).fill(OLD_ID.slice(-8).toLowerCase());
  await matches(1);
  await page.getByRole("searchbox", { name: "Message id" }).fill("");
  const time = page.getByLabel("From", { exact: true });
  await time.fill("2020-01-01T10:00:00");
  await matches(4);
  // The visitor's time zone is Lisbon's, which is the same as UTC in the winter.
  expect(query().get("from")).toBe("2020-01-01T10:00:00.000Z");
  await page.getByLabel("Before").fill("2020-01-02T10:00:00");
  await matches(0);
  await page.reload();
  await matches(0);
  expect(await page.getByLabel("Before").inputValue()).toMatch(/^2020-01-02T10:00/);
  await expectUsable(page, "the log with all filters", [SMALL, PHONE, DESKTOP]);
  await page.getByRole("button", { name: "Show all" }).click();
  await untilCount(rows(), 4);
  expect([...query().keys()]).toEqual([]);
});

test("the URL contains the open rows, so a shared link shows the same details", async () => {
  await open();
  await rows().filter({ hasText: "Who is in?" }).locator(".log-line").click();
  await page.locator(".log-details").waitFor();
  expect(query().getAll("open")).toEqual([ids[0]]);
  const { page: other } = await browser.visitSignedIn(dashboardUrl, page.url().slice(dashboardUrl.length));
  await other
    .locator(".log-details")
    .getByText(ids[0] ?? "?", { exact: true })
    .waitFor();
  await untilCount(other.locator(".log-details"), 1);
  await rows().filter({ hasText: "Who is in?" }).locator(".log-line").click();
  await untilCount(page.locator(".log-details"), 0);
  expect([...query().keys()]).toEqual([]);
});

test("new deliveries still appear if the URL names an open row that is no longer in the log", async () => {
  const other = await push.bridge();
  const { workspaceId } = other;
  await push.ping(workspaceId);
  await open(workspaceId, `?open=${ids[0]}`);
  await untilCount(rows(), 1);
  await push.ping(workspaceId);
  await untilCount(rows(), 2);
});

test("the attempts of one event share a row, which shows each attempt when it is open", async () => {
  const failing = await push.bridge();
  failing.behave(status(503));
  const { workspaceId } = failing;
  await push.publish({ workspaceId, content: create("general", card("Again and again")) });
  await push.logged(workspaceId, 3);
  await open(workspaceId);
  await page.getByText("3 push attempts").waitFor();
  await untilCount(rows(), 1);
  await rows().first().getByText("attempt 3 of 3").waitFor();
  await rows().first().locator(".log-line").click();
  const attempts = page.locator(".attempts li");
  await untilCount(attempts, 3);
  expect(await attempts.nth(0).innerText()).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3}\s+Rejected by bridge 503\s+attempt 1 of 3, \d+ ms$/,
  );
  await page.getByLabel("Outcome").selectOption("status");
  await page.getByText("1 of 1 match.").waitFor();
});

test("a click on a minute of the chart, or the arrow keys and Enter, filter the log to that minute's deliveries", async () => {
  await open();
  const chart = page.locator(".chart .u-over").first();
  await chart.waitFor();
  const { width = 0, height = 0 } = (await chart.boundingBox()) ?? {};
  // No event was pushed in the first minutes of the hour.
  await chart.click({ position: { x: width / 30, y: height / 2 } });
  await page.getByText("0 of 4 match.").waitFor();
  await untilFocused(page, "Delivery log");
  const from = Date.parse(query().get("from") ?? "");
  expect([from % 60_000, Date.parse(query().get("to") ?? "") - from]).toEqual([0, 60_000]);
  await page.getByRole("button", { name: "Show all" }).click();

  const slider = page.getByRole("slider").first();
  await page.getByRole("button", { name: "Send test event" }).focus();
  await page.keyboard.press("Tab");
  expect(await slider.evaluate((element) => element.matches(":focus-visible"))).toBe(true);
  const reading = page.locator(".chart-reading");
  await reading.getByText("Accepted pushes").waitFor();
  const outline = "getComputedStyle(document.activeElement).outlineStyle";
  expect(await page.evaluate<string>(outline)).toBe("solid");
  // The pushes are in the last minutes of the chart.
  for (let i = 0; i < 10 && !/pushes [1-4],/.test(await reading.innerText()); i++) {
    await page.keyboard.press("ArrowLeft");
  }
  expect(await slider.getAttribute("aria-valuetext")).toMatch(/^\d\d:\d\d: Accepted pushes [1-4], Failed/);
  await page.keyboard.press("Enter");
  await page.getByText(/^ – [1-4] of 4 match\.$/).waitFor();
  await untilFocused(page, "Delivery log");
});

test("the filtered log is exported as JSON lines, oldest first", async () => {
  await open(bridge.workspaceId, "?channel=general");
  await page.getByText("2 of 4 match.").waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const file = await saving;
  expect(file.suggestedFilename()).toMatch(
    new RegExp(`^deliveries-${bridge.workspaceId}-\\d{4}-\\d\\d-\\d\\dT[\\d-]{8}\\.jsonl$`),
  );
  const path = join(folder, "export.jsonl");
  await file.saveAs(path);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const exported = lines.map((line) => JSON.parse(line) as { at: string; summary: { channel: string } });
  expect(exported.map(({ summary }) => summary.channel)).toEqual(["general", "general"]);
  expect(exported.map(({ at }) => at)).toEqual(exported.map(({ at }) => at).toSorted());
  await page.getByText("Exported 2 entries as JSON lines.").waitFor();
});

test("the open row of a poll lists the messages that the poll fetched, with links to the pages of their events", async () => {
  const workspace = await push.workspaces.make();
  const { id: workspaceId } = workspace;
  const made = await push.publish(
    { workspaceId, content: create("general", card("Who is in?")) },
    { workspaceId, content: dm("ada", card("Your score")) },
  );
  await poll(push.service.url, workspace);
  await open(workspaceId);
  await rows().first().locator(".log-line").click();
  const events = rows().first().locator("details summary");
  await events.nth(1).waitFor();
  expect(await events.allInnerTexts()).toEqual([
    expect.stringMatching(/^#general · Who is in\? evt_/),
    expect.stringMatching(/^@ada · Your score evt_/),
  ]);
  await events.nth(1).click();
  await rows().first().locator("details").nth(1).getByRole("link", { name: "open the event's page" }).click();
  await page.waitForURL(`**/workspaces/${workspaceId}/events/${made[1]?.eventId}`);
  await until("the page names the message", async () =>
    /^(?:\(\d+\) )?@ada · Your score/.test(await page.title()),
  );
});
