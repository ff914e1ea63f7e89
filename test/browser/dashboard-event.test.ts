import type { Page } from "playwright-core";
import { shortId } from "../../dashboard/words/event-words";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { DESKTOP, PHONE, testBrowser, untilCount, untilFocused } from "../harness/browser";
import { create, update, type MessageInit } from "../harness/contents";
import { startDashboardEdge } from "../harness/dashboard";
import { startCore, TOKENS } from "../harness/processes";
import { eventIdOf, sharedPush } from "../harness/push";
import { expectUsable } from "../harness/usable";

const push = sharedPush();
const browser = testBrowser();
const { dashboardUrl } = push.service;
const SMALL = { width: 320, height: 640 };
const QUESTION: MessageInit = {
  kind: MessageKind.CARD,
  text: "<b>Who</b> is in? محمد",
  rows: [{ buttons: [{ label: "Join", press: { $case: "action", value: "join" } }] }],
};

let page: Page;
beforeAll(async () => {
  ({ page } = await browser.visitSignedIn(dashboardUrl));
});

const pathOf = (workspaceId: string, eventId: string) => `/workspaces/${workspaceId}/events/${eventId}`;
const timeline = (where = page) => where.locator(".timeline > li");
const badge = (where = page) => where.locator(".page-heading .badge").first();

async function open(workspaceId: string, eventId: string): Promise<void> {
  await page.setViewportSize(DESKTOP);
  await page.goto(`${dashboardUrl}${pathOf(workspaceId, eventId)}`);
  await page.getByText("Live", { exact: true }).waitFor();
}

test("a row of the log links to the page of its event, which shows what happened and links back to the open row", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503, { body: "the database is unavailable" }));
  const [made] = await push.publish({
    workspaceId,
    content: update("general", { ...QUESTION, id: "msg_01J0ABCDEFGHJKMNPQRSTVWXYZ" }),
  });
  const eventId = made?.eventId ?? "?";
  await push.logged(workspaceId, 1);
  await page.setViewportSize(DESKTOP);
  await page.goto(`${dashboardUrl}/workspaces/${workspaceId}`);
  const row = page.locator(".log-row").first();
  await row.getByText("<b>Who</b> is in?").waitFor();
  await row.getByRole("link", { name: `Event ${shortId(eventId)}` }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**${pathOf(workspaceId, eventId)}`);
  await page.getByRole("heading", { level: 1, name: "<b>Who</b> is in?" }).waitFor();
  expect(await badge().innerText()).toBe("Failed");
  expect(await page.title()).toMatch(/^(?:\(\d+\) )?#general · <b>Who<\/b> is in\?/);
  await timeline().nth(1).getByText("Rejected by bridge 503").waitFor();
  expect(await timeline().nth(0).innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} Published by /);
  await timeline().nth(1).getByText("the database is unavailable").waitFor();
  const [failed] = bridge.requests;
  const payload = page.getByRole("region", { name: `Event ${eventId}` });
  expect(JSON.parse(await payload.innerText())).toEqual(JSON.parse(String(failed?.body)));
  await expectUsable(page, "the page of a failed event", [SMALL, PHONE, DESKTOP]);

  await page.getByRole("link", { name: "Show the event in the log" }).click();
  await page.waitForURL(`**/workspaces/${workspaceId}?event=${eventId}&open=${eventId}`);
  await page.locator(".log-details").getByText("Open the event's page").waitFor();
  await page.goBack();
  await page.waitForURL(`**${pathOf(workspaceId, eventId)}`);
});

test("the page of an event shows new attempts live, and can send the event again", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503));
  const [made] = await push.publish({ workspaceId, content: update("general") });
  const eventId = made?.eventId ?? "?";
  await push.logged(workspaceId, 1);
  await open(workspaceId, eventId);
  await page.getByText("The last attempt has failed.").waitFor();
  bridge.behave(status(204));
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("The bridge has accepted the event.").waitFor();
  await timeline().getByText("Accepted 204").waitFor();
  await timeline().getByText("Sent again by").waitFor();
  expect(eventIdOf(await bridge.nth(2))).toBe(eventId);
  // The service no longer has the event, but the person who sent it can still read it.
  await page.getByText("The service does not keep events that the bridge has accepted.").waitFor();
  await page.getByText(/The log keeps its attempts until \d/).waitFor();
  await page.getByRole("region", { name: `Event ${eventId}` }).waitFor();
  await page.reload();
  await page.getByText("The service does not keep events").waitFor();
  await untilCount(page.getByRole("region", { name: `Event ${eventId}` }), 0);
  await untilCount(page.getByRole("heading", { name: "The push" }), 0);
});

test("the page shows the push's headers, and programs in four languages that send the event", async () => {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(500));
  const [made] = await push.publish({ workspaceId, content: update("general") });
  const eventId = made?.eventId ?? "?";
  await push.logged(workspaceId, 1);
  await open(workspaceId, eventId);
  const [{ headers } = { headers: {} as Record<string, unknown> }] = bridge.requests;
  const shown = await page
    .locator(".headers div")
    .evaluateAll((all) => all.map((each) => [...each.children].map((part) => part.textContent)));
  for (const [name = "", value] of shown as string[][]) {
    const sent = headers[name.toLowerCase()];
    if (name === "Service-Signature") expect(String(sent)).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    else expect([name, value]).toEqual([name, sent]);
  }
  expect(shown).toHaveLength(6);
  const program = page.getByRole("region", { name: "The program" });
  for (const [language, word] of [
    ["TypeScript", "createHmac"],
    ["Python", "hmac.new"],
    ["Go", "package main"],
    ["curl", "openssl"],
  ] as const) {
    await page.getByRole("button", { name: language, exact: true }).focus();
    await page.keyboard.press("Enter");
    await program.getByText(word).waitFor();
    expect(await program.innerText()).toContain(bridge.url);
  }
  await page.getByRole("button", { name: "Copy the program" }).click();
  await page.getByText("Copied the program.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toContain('-hmac "$SIGNING_SECRET"');
});

test("the page of a held event says when a poll fetches it", async () => {
  const workspace = await push.workspaces.make();
  const { id: workspaceId } = workspace;
  const [made] = await push.publish({ workspaceId, content: create("general", QUESTION) });
  await open(workspaceId, made?.eventId ?? "?");
  await page.getByText("The event waits for the bridge's next poll.").waitFor();
  expect(await badge().innerText()).toBe("Held");
  await page.getByRole("heading", { name: "As a push" }).waitFor();
  const { next } = (await poll(push.service.url, workspace)).json as { next: string };
  await timeline().getByText("A poll returned the event").waitFor();
  await poll(push.service.url, workspace, `after=${next}`);
  await page.getByText("A poll has returned the event").waitFor();
  await expectUsable(page, "the page of a fetched event", [PHONE, DESKTOP]);
});

test("the page of an unknown event says what the service keeps and for how long", async () => {
  const { id } = await push.workspaces.make();
  await page.goto(`${dashboardUrl}${pathOf(id, "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ")}`);
  await page.getByRole("heading", { name: "There is no such event" }).waitFor();
  await page.getByText(/Events are held for 24 hours, and the log keeps 7 days/).waitFor();
  await untilFocused(page, "There is no such event");
  await expectUsable(page, "the page of an unknown event", [PHONE]);
  await page.getByRole("link", { name: "The workspace and its log" }).click();
  await page.waitForURL(`**/workspaces/${id}`);
});

test("a limited token sees the events of its workspaces, and no others", async () => {
  const TOKEN = "token-of-eve-for-tests";
  const bridge = await push.bridge();
  const other = await push.workspaces.make();
  const [mine] = await push.publish({ workspaceId: bridge.workspaceId, content: create("general") });
  const [hidden] = await push.publish({ workspaceId: other.id, content: create("general") });
  await push.logged(bridge.workspaceId, 1);
  const tokens = [`edge=${TOKENS.edge}`, `operator:eve@${bridge.workspaceId}=${TOKEN}`];
  const core = await startCore(push.service.redis.url, { CORE_TOKENS: tokens.join() });
  const dashboard = await startDashboardEdge(core.port);
  try {
    const { page: limited } = await browser.visit(dashboard.url);
    await limited.getByLabel("Operator's token").fill(TOKEN);
    await limited.getByRole("button", { name: "Sign in" }).click();
    await limited.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
    await limited.goto(`${dashboard.url}${pathOf(bridge.workspaceId, mine?.eventId ?? "?")}`);
    await timeline(limited).getByText("Accepted 204").waitFor();
    await limited.goto(`${dashboard.url}${pathOf(other.id, hidden?.eventId ?? "?")}`);
    await limited.getByRole("heading", { name: "There is no such workspace" }).waitFor();
    await limited.getByText("the token eve is not valid for it").waitFor();
  } finally {
    await dashboard.edge.stop();
    await core.stop();
  }
});
