import type { Page } from "playwright-core";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { testBrowser, untilCount } from "../harness/browser";
import { create, update } from "../harness/contents";
import { sharedPush, type PushedBridge } from "../harness/push";

const push = sharedPush();
const browser = testBrowser();
let page: Page;
beforeAll(async () => {
  ({ page } = await browser.visitSignedIn(push.service.dashboardUrl));
});

const { dashboardUrl } = push.service;
const pageOf = ({ workspaceId }: PushedBridge) => `${dashboardUrl}/workspaces/${workspaceId}`;

test("pushes appear live in the health, the log and the chart", async () => {
  const bridge = await push.bridge();
  await page.goto(pageOf(bridge));
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".health-label").getByText("Nothing pushed").waitFor();
  const event = { workspaceId: bridge.workspaceId, content: create("c1") };
  await push.publish(event, event, event);
  await page.locator(".health-label").getByText("Healthy").waitFor();
  await page.getByText("All 3 attempts in the last hour succeeded").waitFor();
  const rows = page.locator(".log-row");
  await rows.nth(2).waitFor();
  const accepted = expect.stringMatching(/message\.create\s+Accepted 204/) as unknown;
  expect(await rows.allInnerTexts()).toEqual(Array(3).fill(accepted));
  await page
    .getByRole("img", { name: /Accepted pushes: 3, Failed attempts: 0, Dropped pushes: 0\.$/ })
    .waitFor();
  // The charts are drawn a moment after the page has loaded.
  const charts = page.locator(".chart canvas");
  await charts.nth(1).waitFor();
  await untilCount(charts, 2);

  bridge.behave(status(503));
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  await page.locator(".health-label").getByText("Failing").waitFor();

  // Health describes the present, so the page does not give advice for a bridge that has recovered.
  bridge.behave(status(204));
  await push.publish(event);
  await page.locator(".health-label").getByText("Recovered").waitFor();
  await page.getByText(/^Recovered .*In the last hour, 1 of 5 attempts failed/).waitFor();
  await untilCount(page.locator(".health-advice"), 0);
});

test("after a change from polls to pushes, the health and the chart show the same number of accepted events", async () => {
  const bridge = await push.bridge({ polls: true });
  const { secret, workspaceId: id } = bridge;
  for (let i = 0; i < 4; i++) await poll(push.service.url, { id, secret });
  await page.goto(pageOf(bridge));
  await page.getByText("The bridge polled (4 polls), and no events were waiting.").waitFor();
  await push.workspaces.setTargetUrl(id, bridge.url);
  await push.ping(id);
  await page.locator(".figures").getByText("1 of 1").waitFor();
  await page
    .getByRole("img", { name: /Accepted pushes: 1, Failed attempts: 0, Dropped pushes: 0, Polls: 4\.$/ })
    .waitFor();
});

test("the log shows each delivery's outcome with advice, and can be filtered", async () => {
  const bridge = await push.bridge();
  await push.ping(bridge.workspaceId);
  bridge.behave(status(410));
  await push.ping(bridge.workspaceId);
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  const logged = await push.logged(bridge.workspaceId, 3);
  await page.goto(pageOf(bridge));
  const rows = page.locator(".log-row");
  await rows.nth(2).waitFor();
  await page.getByLabel("Outcome").selectOption("failed");
  await page.getByText("2 of 3 match.").waitFor();
  await page.getByLabel("Outcome").selectOption("dns");
  await page.getByText("0 of 3 match.").waitFor();
  await page.getByLabel("Outcome").selectOption("status");
  await page.getByLabel("Event type").selectOption("ping");
  await page.getByText("1 of 3 match.").waitFor();
  await rows.getByText("Rejected by bridge 410").waitFor();
  await rows.getByRole("button", { name: /ping/ }).click();
  await page.getByText("Check the path of the target URL: it must accept POST requests.").last().waitFor();
  await page
    .locator(".log-details")
    .getByText(logged[1]?.eventId ?? "?", { exact: true })
    .waitFor();

  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Event type").selectOption("");
  await page.getByRole("searchbox", { name: "Event id" }).fill(logged[2]?.eventId.slice(-8) ?? "?");
  await page.getByText("1 of 3 match.").waitFor();

  // While the log is paused, new deliveries are counted but not shown.
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  await push.ping(bridge.workspaceId);
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByText("4 push attempts").waitFor();
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

// contract: test-event-push
test("a test event of a push workspace shows each step, the status code and the latency", async () => {
  const bridge = await push.bridge();
  await page.goto(pageOf(bridge));
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByText(/^The bridge answered with 204 after \d+ ms\.$/).waitFor();
  const words =
    /^Name looked up.*Address is allowed.*Connected.*TLS established.*Signed event sent.*Answered 2xx/s;
  expect((await page.locator(".steps li.done").allInnerTexts()).join("\n")).toMatch(words);
  await untilCount(page.locator(".steps li.done"), 6);
  await bridge.nth(1);
});

test("times are in the user's time zone, with the exact UTC time on hover", async () => {
  const bridge = await push.bridge();
  await push.ping(bridge.workspaceId);
  const [{ at } = { at: undefined }] = await push.logged(bridge.workspaceId, 1);
  const timeZone = "Asia/Kathmandu";
  const options = { timezoneId: timeZone };
  const path = `/workspaces/${bridge.workspaceId}`;
  const { page: there } = await browser.visitSignedIn(push.service.dashboardUrl, path, options);
  const time = there.locator(".log time").first();
  const shown = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone });
  expect(await time.innerText()).toContain(shown.format(at));
  expect(await time.getAttribute("title")).toBe(at?.toISOString().replace("T", " ").replace("Z", " UTC"));
});
