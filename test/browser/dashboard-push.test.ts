import { status } from "../harness/behaviours";
import { PHONE, startBrowser, type TestBrowser } from "../harness/browser";
import { create, update } from "../harness/contents";
import { freePort } from "../harness/processes";
import { sharedPush } from "../harness/push";

const push = sharedPush();
let browser: TestBrowser;
beforeAll(async () => {
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
});
jest.setTimeout(120_000);

test("pushes appear as they happen: in the health, in the log and in the chart", async () => {
  const bridge = await push.bridge();
  const { page, faults, leave } = await browser.visitSignedIn(
    push.service.dashboardUrl,
    `/workspaces/${bridge.workspaceId}`,
  );
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".health-label").getByText("Nothing pushed").waitFor();
  const event = { workspaceId: bridge.workspaceId, content: create("c1") };
  await push.publish(event, event, event);
  await page.locator(".health-label").getByText("Pushing").waitFor();
  await page.getByText("All 3 attempts of the last hour went well").waitFor();
  const rows = page.locator(".log tbody tr");
  await rows.nth(2).waitFor();
  expect(await rows.allInnerTexts()).toEqual(
    Array(3).fill(expect.stringMatching(/message\.create\s+Accepted 204/)),
  );
  await page.getByRole("img", { name: /Accepted: 3, Failed: 0, Given up: 0/ }).waitFor();
  // They are drawn a moment after they are there.
  const charts = page.locator(".chart canvas");
  await charts.nth(1).waitFor();
  expect(await charts.count()).toBe(2);

  bridge.behave(status(503));
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  await page.locator(".health-label").getByText("Failing").waitFor();
  await page
    .locator(".health-advice")
    .getByText("The bridge answered 503 where a 2xx is expected.")
    .waitFor();
  await page.locator(".health-sentence").getByText("refused by bridge").waitFor();
  expect(faults).toEqual([]);
  await leave();
});

test("the log has a delivery's outcome, what to do about it, and filters", async () => {
  const bridge = await push.bridge();
  await push.ping(bridge.workspaceId);
  bridge.behave(status(410));
  await push.ping(bridge.workspaceId);
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  const logged = await push.logged(bridge.workspaceId, 3);
  const { page, faults, leave } = await browser.visitSignedIn(
    push.service.dashboardUrl,
    `/workspaces/${bridge.workspaceId}`,
  );
  const rows = page.locator(".log tbody tr");
  await rows.nth(2).waitFor();
  await page.getByLabel("Outcome").selectOption("failed");
  await page.getByText("2 of 3 match.").waitFor();
  await page.getByLabel("Outcome").selectOption("dns");
  await page.getByText("0 of 3 match.").waitFor();
  await page.getByLabel("Outcome").selectOption("status");
  await page.getByLabel("Event type").selectOption("ping");
  await page.getByText("1 of 3 match.").waitFor();
  await rows.getByText("Refused by bridge 410").waitFor();
  await rows.getByRole("button", { name: /^Details of ping/ }).click();
  await page.getByText("Check the path of the target URL: it must take POST requests.").last().waitFor();
  await page
    .locator(".log-details")
    .getByText(logged[1]?.eventId ?? "?")
    .waitFor();

  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Event type").selectOption("");
  await page.getByRole("searchbox", { name: "Event id" }).fill(logged[2]?.eventId.slice(-8) ?? "?");
  await page.getByText("1 of 3 match.").waitFor();

  // Held still, what comes meanwhile is counted and not shown.
  await page.getByRole("searchbox", { name: "Event id" }).fill("");
  await page.getByRole("button", { name: "Hold still" }).click();
  await push.ping(bridge.workspaceId);
  await page.getByRole("button", { name: "Follow again (1 new)" }).click();
  await page.getByText("4 deliveries").waitFor();
  expect(faults).toEqual([]);
  await leave();
});

// contract: test-event-push
test("a test event shows each step, and the one that it did not get past with what to do", async () => {
  // Nobody else takes the port once the bridge is closed.
  const bridge = await push.bridge({ port: await freePort() });
  const { page, faults, leave } = await browser.visitSignedIn(
    push.service.dashboardUrl,
    `/workspaces/${bridge.workspaceId}`,
  );
  const steps = page.locator(".steps li");
  const sendTestEvent = page.getByRole("button", { name: "Send test event" });
  await sendTestEvent.click();
  await page.getByText(/^The bridge answered 204 after \d+ ms\.$/).waitFor();
  const words = [
    "Name looked up",
    "Address is public",
    "Connected",
    "TLS agreed",
    "Signed event sent",
    "Answered 2xx",
  ];
  expect(await steps.allInnerTexts()).toEqual(words.map((each) => expect.stringContaining(each) as string));
  expect(await page.locator(".steps li.done").count()).toBe(6);
  await bridge.nth(1);

  await bridge.close();
  await sendTestEvent.click();
  await page.locator(".steps li.failed").getByText("Connected").waitFor();
  expect(await page.locator(".steps li.not-reached").count()).toBe(3);
  await page.getByRole("status").getByText("Start the bridge, check the port of the target URL").waitFor();
  expect(faults).toEqual([]);
  await leave();
});

test("on a phone a test event is sent right below the health that says to, above the log", async () => {
  const bridge = await push.bridge();
  const { page, leave } = await browser.visitSignedIn(
    push.service.dashboardUrl,
    `/workspaces/${bridge.workspaceId}`,
    {
      size: PHONE,
    },
  );
  const places = ["Send a test event to see whether the bridge is ready.", "Send test event", "Delivery log"];
  const tops: number[] = [];
  for (const words of places) {
    const place = page.locator("main").getByText(words, { exact: words !== places[0] });
    await place.waitFor();
    tops.push((await place.boundingBox())?.y ?? NaN);
  }
  expect(tops).toEqual(tops.toSorted((a, b) => a - b));
  await leave();
});

test("times are in the reader's zone, with the exact UTC on hover", async () => {
  const bridge = await push.bridge();
  await push.ping(bridge.workspaceId);
  const [entry] = await push.logged(bridge.workspaceId, 1);
  const { page, leave } = await browser.visitSignedIn(
    push.service.dashboardUrl,
    `/workspaces/${bridge.workspaceId}`,
    {
      timeZone: "Asia/Kathmandu",
    },
  );
  const time = page.locator(".log tbody time").first();
  await time.waitFor();
  const at = entry?.at ?? new Date(0);
  const there = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "Asia/Kathmandu" });
  expect(await time.innerText()).toContain(there.format(at));
  expect(await time.getAttribute("title")).toBe(at.toISOString().replace("T", " ").replace("Z", " UTC"));
  await leave();
});
