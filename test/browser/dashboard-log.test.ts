import type { Locator, Page } from "playwright-core";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { PHONE, testBrowser, untilCount } from "../harness/browser";
import { create, update } from "../harness/contents";
import { sharedPush, type PushedBridge } from "../harness/push";
import { expectUsable } from "../harness/usable";

const push = sharedPush();
const browser = testBrowser();
const { dashboardUrl } = push.service;
const LAPTOP = { width: 1280, height: 800 };
/** Minimum width and height of a touch target, in px. */
const TARGET_MIN = 44;

let page: Page;
let busy: PushedBridge;
beforeAll(async () => {
  ({ page } = await browser.visitSignedIn(dashboardUrl));
  busy = await push.bridge();
  const { workspaceId } = busy;
  const event = (i: number) => ({ workspaceId, content: i < 5 ? update("c1") : create("c1") });
  await push.publish(...Array.from({ length: 45 }, (_, i) => event(i)));
  await push.logged(workspaceId, 45);
});

const rows = (where = page) => where.locator(".log-row");
const linesOf = (where = page) => rows(where).locator(".log-line").allInnerTexts();
const query = (where = page) => new URL(where.url()).search;

async function open(workspaceId: string, search = ""): Promise<void> {
  await page.setViewportSize(LAPTOP);
  await page.goto(`${dashboardUrl}/workspaces/${workspaceId}${search}`);
  await page.getByText("Live", { exact: true }).waitFor();
}

test("the log has pages of 20 rows, and fits on a few screens", async () => {
  await open(busy.workspaceId);
  await page.getByText("45 push attempts").waitFor();
  const newer = page.getByRole("button", { name: "Newer" });
  const older = page.getByRole("button", { name: "Older" });
  await page.getByText("Page 1 of 3").waitFor();
  const seen = [await linesOf()];
  expect([seen[0]?.length, await newer.isDisabled()]).toEqual([20, true]);
  expect(await page.evaluate<number>("document.querySelector('.log-card').offsetHeight")).toBeLessThan(1_400);
  // The filters stay in view while the rows scroll.
  await rows().last().scrollIntoViewIfNeeded();
  const filter = await page.getByLabel("Outcome").boundingBox();
  expect(filter?.y).toBeGreaterThanOrEqual(0);
  expect(filter?.y).toBeLessThan(100);
  for (const number of [2, 3]) {
    await older.click();
    await page.getByText(`Page ${number} of 3`).waitFor();
    seen.push(await linesOf());
    expect(query()).toBe(`?page=${number}`);
  }
  expect([seen[2]?.length, await older.isDisabled()]).toEqual([5, true]);
  await newer.click();
  await page.getByText("Page 2 of 3").waitFor();
  expect(await linesOf()).toEqual(seen[1]);
});

test("the URL contains the log's filters and page, so a reload or another user shows the same rows", async () => {
  await open(busy.workspaceId);
  await page.getByLabel("Event type").selectOption("message.create");
  await page.getByText("40 of 45 match.").waitFor();
  await page.getByLabel("Outcome").selectOption("success");
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText("Page 2 of 2").waitFor();
  expect(query()).toBe("?outcome=success&kind=message.create&page=2");
  const shown = await linesOf();
  expect(shown).toHaveLength(20);

  const path = page.url().slice(dashboardUrl.length);
  const { page: other } = await browser.visitSignedIn(dashboardUrl, path);
  await page.reload();
  for (const where of [page, other]) {
    await where.getByText("Page 2 of 2").waitFor();
    await where.getByText("40 of 45 match.").waitFor();
    expect(await linesOf(where)).toEqual(shown);
    expect(await where.getByLabel("Event type").inputValue()).toBe("message.create");
    expect(await where.getByLabel("Outcome").inputValue()).toBe("success");
  }

  // Changing a filter shows the first page of the new list.
  await page.getByRole("searchbox", { name: "Event id" }).fill("no such id");
  await page.getByText("0 of 45 match.").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByText("Page 1 of 3").waitFor();
  expect(query()).toBe("");
});

test("new deliveries do not move the rows of an older page, or of a log with an open row; a button shows the new deliveries", async () => {
  const { workspaceId } = busy;
  await open(workspaceId, "?page=2");
  await page.getByText("Page 2 of 3").waitFor();
  const before = await linesOf();
  await push.publish({ workspaceId, content: create("c1") }, { workspaceId, content: create("c1") });
  const show = page.getByRole("button", { name: "2 new" });
  await show.waitFor();
  expect(await linesOf()).toEqual(before);
  await show.click();
  await page.getByText("47 push attempts").waitFor();
  await page.getByText("Page 1 of 3").waitFor();
  await show.waitFor({ state: "detached" });

  // On the first page, new deliveries appear live, until a row is open.
  await push.publish({ workspaceId, content: create("c1") });
  await page.getByText("48 push attempts").waitFor();
  const line = rows().nth(3).locator(".log-line");
  await line.click();
  await push.publish({ workspaceId, content: create("c1") });
  await page.getByRole("button", { name: "1 new" }).waitFor();
  expect(await line.getAttribute("aria-expanded")).toBe("true");
  await line.click();
  await page.getByText("49 push attempts").waitFor();
});

test("the keyboard opens and closes a row", async () => {
  await open(busy.workspaceId);
  const line = rows().first().locator(".log-line");
  await line.focus();
  expect(await line.getAttribute("aria-expanded")).toBe("false");
  await page.keyboard.press("Enter");
  await page.getByText("The service does not keep events that the bridge has accepted.").waitFor();
  expect(await line.getAttribute("aria-expanded")).toBe("true");
  const details = page.locator(`[id="${await line.getAttribute("aria-controls")}"]`);
  await details.getByText("1 of 3", { exact: true }).waitFor();
  // The first Tab reaches the row's link to the page of the event.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("Copied the event id.").waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(await details.locator("code").first().innerText()).toBe(copied);
  await line.focus();
  await page.keyboard.press("Space");
  await details.waitFor({ state: "detached" });
});

test("the details of a poll show its events while they are held; polls and pushes are counted separately", async () => {
  const workspace = await push.workspaces.make({ name: "Polls and pushes" });
  const { id } = workspace;
  const published = await push.publish(
    { workspaceId: id, content: create("c1") },
    { workspaceId: id, content: create("c2") },
  );
  const { next } = (await poll(push.service.url, workspace)).json as { next: string };
  for (let i = 0; i < 3; i++) await poll(push.service.url, workspace, `after=${next}`);
  await open(id);
  await page.getByText("4 polls", { exact: true }).waitFor();
  await page.getByRole("img", { name: /Polls: 4\.$/ }).waitFor();
  expect(await linesOf()).toEqual([
    expect.stringMatching(/3 polls\s+no events, since /),
    expect.stringMatching(/Polled\s+2 events/),
  ]);
  const [empty, full] = [rows().nth(0), rows().nth(1)];
  await empty.locator(".log-line").click();
  await empty.getByText("No events were waiting.").waitFor();
  await full.locator(".log-line").click();
  const events = full.locator("details");
  await events.nth(1).waitFor();
  expect(await events.locator("summary code").allInnerTexts()).toEqual(
    published.map(({ eventId }) => eventId),
  );
  await events.nth(1).locator("summary").click();
  const { type, channel } = JSON.parse(await events.nth(1).locator("pre").innerText()) as Record<
    string,
    unknown
  >;
  expect([type, channel]).toEqual(["message.create", "c2"]);
  await expectUsable(page, "the log of a poll workspace with open rows", [PHONE, LAPTOP]);
});

test("the chart shows the numbers for the minute under the mouse pointer", async () => {
  await open(busy.workspaceId);
  const chart = page.locator(".chart").first();
  await chart.locator("canvas").waitFor();
  const { width = 0, height = 0 } = (await chart.boundingBox()) ?? {};
  await chart.hover({ position: { x: width / 2, y: height / 2 } });
  const reading = page.locator(".chart-reading").first();
  expect(await reading.innerText()).toMatch(
    /^\d\d:\d\d: Accepted pushes \d+, Failed attempts 0, Dropped pushes 0$/,
  );
  await page.mouse.move(0, 0);
  await reading.waitFor({ state: "detached" });
});

test("if the details of a row fail to load, the page shows the error and retries", async () => {
  await open(busy.workspaceId);
  const DETAILS = "**/deliveries/*";
  await page.route(DETAILS, (route) => route.fulfill({ status: 404, json: { message: "No such entry." } }));
  const row = rows().first();
  await row.locator(".log-line").click();
  await row.getByRole("alert").getByText("No such entry.").waitFor();
  await page.unroute(DETAILS);
  await row.getByRole("button", { name: "Try again" }).click();
  await row.getByText("The service does not keep events").waitFor();
  await row.getByRole("alert").waitFor({ state: "detached" });
});

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

async function boxOf(element: Locator): Promise<Box> {
  const box = await element.boundingBox();
  if (box === null) throw new Error("the element is not visible");
  return box;
}

const middleOf = ({ y, height }: Box): number => y + height / 2;

test("on a phone, a row has two lines, nothing wraps or overlaps, and each touch target is large enough", async () => {
  const failing = await push.bridge();
  const { workspaceId } = failing;
  await push.ping(workspaceId);
  failing.behave(status(503));
  await push.publish({ workspaceId, content: create("c1") }, { workspaceId, content: update("c1") });
  await push.logged(workspaceId, 5);
  await open(workspaceId);
  await page.setViewportSize(PHONE);
  await rows().getByRole("checkbox").nth(1).waitFor();
  // The three attempts of the first event share a row.
  await untilCount(rows(), 3);
  for (const row of await rows().all()) {
    const part = (name: string) => boxOf(row.locator(`.log-line > ${name}`));
    const [type, when] = [await part(".log-type"), await part(".log-when")];
    const [badge, facts] = [await part(".badge"), await part(".log-facts")];
    for (const each of [type, when, badge, facts]) expect(each.height).toBeLessThan(32);
    expect(Math.abs(middleOf(type) - middleOf(when))).toBeLessThan(8);
    expect(Math.abs(middleOf(badge) - middleOf(facts))).toBeLessThan(8);
    expect(type.x + type.width).toBeLessThanOrEqual(when.x);
    expect(badge.x + badge.width).toBeLessThanOrEqual(facts.x);
    expect(badge.y).toBeGreaterThan(type.y);
  }
  await rows().first().locator(".log-line").click();
  await page.getByRole("region", { name: /^Event evt_/ }).waitFor();
  await page.getByRole("button", { name: "More" }).click();
  const small: string[] = [];
  const targets = page.locator(".log-card").locator("button, select, label, input[type=search]");
  for (const target of await targets.all()) {
    const { width, height } = await boxOf(target);
    if (Math.min(width, height) < TARGET_MIN) small.push(`${await target.innerText()}: ${width} × ${height}`);
  }
  expect(small).toEqual([]);
  await expectUsable(page, "the log of a failing bridge with an open row", [PHONE]);
});
