import { testBrowser, untilCount, untilFocused, type Visitor } from "../harness/browser";
import { poll } from "../harness/bridge";
import { create } from "../harness/contents";
import { sharedPush } from "../harness/push";
import { until } from "../harness/wait";

const push = sharedPush();
const browser = testBrowser();
let visitor: Visitor;
beforeAll(async () => {
  visitor = await browser.visitSignedIn(push.service.dashboardUrl);
});

async function open(workspaceId: string, tab: "" | "/settings" = ""): Promise<Visitor["page"]> {
  const { page } = visitor;
  await page.goto(`${push.service.dashboardUrl}/workspaces/${workspaceId}${tab}`);
  await page.getByText("Live", { exact: true }).waitFor();
  return page;
}

// contract: test-event, poll-is-delivery
test("the page of a poll workspace shows waiting events, each poll as it happens, and whether the bridge polls", async () => {
  const workspace = await push.workspaces.make({ name: "Polls" });
  const page = await open(workspace.id);
  const event = { workspaceId: workspace.id, content: create("c1") };
  await push.publish(event, event);
  const figure = (name: string) => page.locator(".figures div", { hasText: name });
  const waiting = figure("Events waiting").locator("dd");
  await waiting.getByText("2", { exact: true }).waitFor();
  await untilCount(figure("Oldest waiting since").locator("time"), 1);

  const sendTestEvent = page.getByRole("button", { name: "Send test event" });
  await sendTestEvent.click();
  await page.getByText(/the bridge has not polled within the last minute\. Last poll: never/).waitFor();
  const { next } = (await poll(push.service.url, workspace)).json as { next: string };
  await poll(push.service.url, workspace, `after=${next}`);
  await page.locator(".health-label").getByText("Healthy").waitFor();
  await waiting.getByText("0", { exact: true }).waitFor();
  const log = page.locator(".log");
  await log.getByText("Polled").nth(1).waitFor();
  await log.getByText("3 events").waitFor();
  await poll(push.service.url, workspace, `after=${next}`);
  await log.getByText("2 polls").waitFor();
  await log.getByText(/no events, since /).waitFor();
  await sendTestEvent.click();
  await page.getByText(/and the bridge polls\. Last poll: /).waitFor();
});

// contract: push-private
test("the form for the target URL warns about held events, and shows why a URL is rejected", async () => {
  const bridge = await push.bridge({ polls: true });
  await push.publish({ workspaceId: bridge.workspaceId, content: create("c1") });
  await push.workspaces.sendTestEvent(bridge.workspaceId);
  const page = await open(bridge.workspaceId, "/settings");
  const field = page.getByLabel("Events are pushed to");
  await field.fill("https://192.168.0.1/events");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Push events from now on?" });
  await dialog.getByText("2 events are waiting.").waitFor();
  await dialog.getByText("Let the bridge make one last poll first.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });
  expect((await push.workspaces.get(bridge.workspaceId)).workspace?.targetUrl).toBe("");

  await page.getByRole("button", { name: "Set", exact: true }).click();
  await dialog.getByRole("button", { name: "Set the target URL" }).click();
  await page.getByRole("alert").filter({ hasText: "192.168.0.1" }).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");

  await field.fill(bridge.url);
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await dialog.getByRole("button", { name: "Set the target URL" }).click();
  await page.getByText("Target URL set: events are pushed.").waitFor();
  await page.getByText("Polls are answered with 403.").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator(".health-label").getByText("Nothing pushed").waitFor();
  await page.getByRole("link", { name: "Settings" }).click();

  await field.fill(`${bridge.url}?changed`);
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await until("the changed URL", async () =>
    (await push.workspaces.get(bridge.workspaceId)).workspace?.targetUrl.endsWith("?changed"),
  );

  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Clear the target URL" }).click();
  await page.getByText("Target URL cleared: events are held for polling.").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  // The held event counts as waiting again, and so does the ping unless it has expired.
  const waiting = page.locator(".figures div", { hasText: "Events waiting" });
  await waiting.getByText(/^[12]$/).waitFor();
});

test("when the target URL changes, the page removes the outcome of the test event that was sent in the previous mode", async () => {
  const bridge = await push.bridge({ polls: true });
  const page = await open(bridge.workspaceId);
  await page.getByRole("button", { name: "Send test event" }).click();
  const testOutcome = page.getByText(/^The ping is held/);
  await testOutcome.waitFor();
  await push.workspaces.setTargetUrl(bridge.workspaceId, bridge.url);
  await page.locator(".health-label").getByText("Nothing pushed").waitFor();
  await testOutcome.waitFor({ state: "detached" });
});

// time: smoke
// contract: secret-shown-once, rotation-inbound
test("rotating the secret shows the new secret once, and says how long the old one is still accepted", async () => {
  const workspace = await push.workspaces.make({ name: "Rotates" });
  const page = await open(workspace.id, "/settings");
  const dialog = page.getByRole("dialog");
  const rotate = async () => {
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await dialog.getByRole("button", { name: "Rotate" }).click();
  };
  await rotate();
  const secret = await page.locator("[data-secret]").innerText();
  expect(secret).not.toBe(workspace.secret);
  // The secret appears above the button, so the page scrolls up to it.
  await untilFocused(page, "Signing secret");
  expect(await page.evaluate("window.scrollY")).toBe(0);
  const overlap = page.locator(".overlap");
  await overlap.getByText(/accepted until/).waitFor();
  await overlap.getByText(/in (?:23|24) h/).waitFor();
  for (const each of [secret, workspace.secret]) {
    expect((await poll(push.service.url, { id: workspace.id, secret: each })).status).toBe(200);
  }
  await page.getByRole("button", { name: "Hide the secret" }).click();
  await page.locator("[data-secret]").waitFor({ state: "detached" });

  for (const active of [3, 4]) {
    await rotate();
    await until(`${active} secrets`, async () => (await page.locator(".secrets li").count()) === active);
  }
  await rotate();
  await dialog.getByText("Four secrets are active").waitFor();
});

// contract: check-3
test("disconnecting asks for confirmation, and connecting again shows a new secret", async () => {
  const workspace = await push.workspaces.make({ name: "Comes and goes" });
  const page = await open(workspace.id, "/settings");
  await page.getByRole("button", { name: "Disconnect" }).click();
  const dialog = page.getByRole("dialog", { name: "Disconnect Comes and goes?" });
  await dialog.getByRole("button", { name: "Disconnect" }).click();
  const connect = page.getByRole("button", { name: "Connect again" });
  await connect.waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator(".health-label").getByText("Disconnected").waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  expect((await poll(push.service.url, workspace)).status).toBe(404);
  await connect.click();
  const secret = await page.locator("[data-secret]").innerText();
  expect((await poll(push.service.url, { id: workspace.id, secret })).status).toBe(200);
  expect((await poll(push.service.url, workspace)).status).toBe(401);
});

test("the name and the owner's email can be changed", async () => {
  const workspace = await push.workspaces.make({ name: "Before" });
  const page = await open(workspace.id, "/settings");
  const save = page.getByRole("button", { name: "Save" });
  await page.getByLabel("Name").fill("After");
  await page.getByLabel("Owner's email").fill(`${"a".repeat(250)}@example.com`);
  await save.click();
  await page.getByText("The owner's email must be an email address").waitFor();
  await page.getByLabel("Owner's email").fill("ada@example.com");
  await save.click();
  await page.getByRole("heading", { name: "After", level: 1 }).waitFor();
  const changed = (await push.workspaces.get(workspace.id)).workspace;
  expect([changed?.name, changed?.ownerEmail]).toEqual(["After", "ada@example.com"]);
});

test("deleting a workspace requires its name; other open pages show that the workspace no longer exists", async () => {
  const workspace = await push.workspaces.make({ name: "Goes away" });
  const other = await visitor.context.newPage();
  await other.goto(`${push.service.dashboardUrl}/workspaces/${workspace.id}`);
  await other.getByText("Live", { exact: true }).waitFor();
  const page = await open(workspace.id, "/settings");
  await page.bringToFront();
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Goes away?" });
  const confirm = dialog.getByRole("button", { name: "Delete for good" });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel(/^Type the name/).fill("Goes");
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel(/^Type the name/).fill("Goes away");
  await confirm.click();
  await page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  await page.getByText("Deleted Goes away.").waitFor();
  expect((await poll(push.service.url, workspace)).status).toBe(404);
  await other.bringToFront();
  await other.getByRole("heading", { name: "There is no such workspace" }).waitFor();
  await other.close();
});
