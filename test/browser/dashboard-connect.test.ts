import type { BrowserContextOptions, Page } from "playwright-core";
import { poll, post } from "../harness/bridge";
import { DESKTOP, PHONE, testBrowser, untilCount } from "../harness/browser";
import { status } from "../harness/behaviours";
import { create } from "../harness/contents";
import { sharedPush } from "../harness/push";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const push = sharedPush();
const { dashboardUrl, url } = push.service;
const browser = testBrowser();

const LOOKS: readonly (readonly [string, BrowserContextOptions])[] = [
  ["a phone", { viewport: PHONE, colorScheme: "dark" }],
  ["a laptop", { viewport: { width: 1280, height: 800 } }],
];

const COMMAND = JSON.stringify({
  type: "command",
  channel: "general",
  user: { id: "u1", name: "Ada" },
  text: "help",
});
const step = (page: Page, title: string) => page.locator(".next-steps li", { hasText: title });
const isDone = (page: Page, title: string) =>
  step(page, title).getByText(": done").waitFor({ state: "attached" });
const isShownWhole = (page: Page, selector: string) =>
  page.evaluate<boolean>(
    `(([e]) => e.scrollWidth <= e.clientWidth && e.getBoundingClientRect().right <= innerWidth)(document.querySelectorAll(${JSON.stringify(selector)}))`,
  );

/** Keys in the order in which the test presses them, and the tab that each key selects, starting from the first tab. */
const KEYS = [
  ["ArrowLeft", "Go"],
  ["ArrowRight", "curl"],
  ["ArrowRight", "TypeScript"],
  ["End", "Go"],
  ["Home", "curl"],
  ["ArrowRight", "TypeScript"],
  ["ArrowRight", "Python"],
] as const;

describe.each(LOOKS)("on %s,", (_look, options) => {
  test("the page of a new poll workspace lists the setup steps, and marks each step as done without a reload", async () => {
    const { page } = await browser.visitSignedIn(dashboardUrl, "/connect", options);
    await page.getByLabel("Name").fill("Poll club");
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByText("0 of 4 done").waitFor();
    expect(await isShownWhole(page, "[data-secret]")).toBe(true);
    expect(await isShownWhole(page, ".snippet pre")).toBe(true);
    const secret = await page.locator("[data-secret]").innerText();
    const id = /WORKSPACE_ID=(\S+)/.exec(await page.locator(".snippet pre").innerText())?.[1] ?? "";
    expect(
      await page
        .locator(".next-steps a")
        .evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
    ).toEqual(["/guides/bridge-guide", "/docs"]);

    await page.getByRole("button", { name: "I have stored the secret" }).click();
    await isDone(page, "Store the signing secret");
    expect((await post(url, { id, secret }, COMMAND)).status).toBe(202);
    await isDone(page, "The bridge sends a signed request");
    await untilCount(step(page, "The bridge polls").getByText("Waiting for the first poll."), 1);
    await poll(url, { id, secret });
    await isDone(page, "The bridge polls");
    await page.getByRole("button", { name: "Copy the command" }).click();
    await page.getByText("Copied the command.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      "SIGNING_SECRET=… npm run check-bridge -- --poll",
    );

    // The workspace's page shows the same steps, even after a reload.
    await page.getByRole("link", { name: "Open the workspace" }).click();
    await page.getByText("3 of 4 done").waitFor();
    await page.reload();
    await page.getByText("3 of 4 done").waitFor();
    await page.getByRole("button", { name: "The check has passed" }).click();
    await page.getByRole("heading", { name: "What to do next" }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();
    await untilCount(page.getByText("What to do next"), 0);
  });

  test("the page of a new workspace waits for its first signed request, and shows programs that send one", async () => {
    const { page } = await browser.visitSignedIn(dashboardUrl, "/connect", options);
    await page.getByLabel("Name").fill("First club");
    await page.getByRole("button", { name: "Connect" }).click();
    const card = page.locator(".first-request");
    const status = card.getByRole("status");
    await status.getByText("Waiting for your bridge …").waitFor();
    const secret = await page.locator("[data-secret]").innerText();
    const id = /WORKSPACE_ID=(\S+)/.exec(await page.locator(".snippet pre").innerText())?.[1] ?? "";

    const code = card.locator("pre");
    const tab = (name: string) => card.getByRole("tab", { name, exact: true });
    const isChosen = (name: string) => card.getByRole("tab", { name, exact: true, selected: true }).waitFor();
    await isChosen("curl");
    // Tab moves the focus from the selected tab to the button that copies the code, and then to the code.
    await tab("curl").focus();
    for (const [key, name] of KEYS) {
      await page.keyboard.press(key);
      await isChosen(name);
      expect(await page.evaluate("document.activeElement.textContent")).toBe(name);
      const text = await code.innerText();
      expect([name, text.includes(`/hooks/${id}`), text.includes(secret)]).toEqual([name, true, false]);
      expect(await card.getByRole("tabpanel", { name, exact: true }).count()).toBe(1);
    }
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Copied the code.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await code.textContent());
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("PRE");
    const size = options.viewport ?? DESKTOP;
    await expectUsable(page, "first request, waiting", [{ width: 320, height: 700 }, size]);

    expect((await post(url, { id, secret: `not ${secret}` }, COMMAND)).status).toBe(401);
    await untilCount(status.getByText("Waiting for your bridge …"), 1);
    expect((await post(url, { id, secret }, COMMAND)).status).toBe(202);
    await status.getByText("The first signed request has arrived").waitFor();
    await expectUsable(page, "first request, arrived", [size]);

    // For the next workspace that the user connects, the page shows the same programming language.
    await page.goto(`${dashboardUrl}/connect`);
    await page.getByLabel("Name").fill("Second club");
    await page.getByRole("button", { name: "Connect" }).click();
    await isChosen("Python");
  });

  test("the heading and the form of the page for connecting have the same left edge as the list", async () => {
    const { page } = await browser.visitSignedIn(dashboardUrl, "/", options);
    const left = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((e) => e.getBoundingClientRect().left);
    const list = await left("h1");
    await page.goto(`${dashboardUrl}/connect`);
    await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
    expect([await left("h1"), await left("form")]).toEqual([list, list]);
  });

  test("the steps of a new push workspace wait for a signed request and an accepted push", async () => {
    const bridge = await push.bridge();
    bridge.behave(status(500));
    const path = `/workspaces/${bridge.workspaceId}`;
    const { page } = await browser.visitSignedIn(dashboardUrl, path, options);
    await page.getByText("0 of 4 done").waitFor();
    await step(page, "Check the bridge").getByText(`--url '${bridge.url}'`).waitFor();
    await push.ping(bridge.workspaceId);
    await page.locator(".health-label").getByText("Failing").waitFor();
    await untilCount(page.getByText("0 of 4 done"), 1);
    bridge.behave(status(204));
    await push.ping(bridge.workspaceId);
    await isDone(page, "The bridge accepts a push");
    await post(url, { id: bridge.workspaceId, secret: bridge.secret }, COMMAND);
    // The signed request proves that the bridge has the secret. The step to confirm that `chat-bridge-check` has passed
    // is missing, because only the browser that connected the workspace shows this step.
    await page.getByRole("heading", { name: "What to do next" }).waitFor({ state: "detached" });
  });

  test("forms show their errors next to the fields, and suppress the browser's own messages", async () => {
    const { page } = await browser.visitSignedIn(dashboardUrl, "/connect", options);
    const field = (name: string) => page.locator(".field", { has: page.getByLabel(name) });
    await page.getByRole("radio", { name: /^Push/ }).check();
    await page.getByRole("button", { name: "Connect" }).click();
    await field("Name").getByText("Enter a name.").waitFor();
    await field("Target URL").getByText("Enter the target URL.").waitFor();
    expect(await page.evaluate("document.activeElement.name")).toBe("name");
    expect(await page.evaluate("[...document.forms].every((form) => form.noValidate)")).toBe(true);
    await page.getByLabel("Name").fill("A");
    await untilCount(page.getByText("Enter a name."), 0);
    await page.getByLabel("Target URL").fill("bridge");
    await page.getByLabel("Owner's email").fill("nobody");
    await page.getByRole("button", { name: "Connect" }).click();
    await field("Owner's email").getByText("The owner's email must be an email address").waitFor();
    await until(
      "the focus is on the field",
      async () => (await page.evaluate("document.activeElement.name")) === "ownerEmail",
    );
    await page.getByLabel("Owner's email").fill("");
    await page.getByRole("button", { name: "Connect" }).click();
    await field("Target URL").getByText("The target URL must be an absolute URL").waitFor();
    await expectUsable(page, "forms");
  });

  test("the workspace list, the workspace's page and the test event show the same state, and give advice only while a fault exists", async () => {
    const bridge = await push.bridge();
    const name = `Same state ${options.viewport?.width}`;
    await push.workspaces.update(bridge.workspaceId, { name });
    const { page, context } = await browser.visitSignedIn(dashboardUrl, "/", options);
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
    await row.getByText("Nothing pushed").waitFor();
    const detail = await context.newPage();
    await detail.goto(`${dashboardUrl}/workspaces/${bridge.workspaceId}`);
    const label = detail.locator(".health-label");

    bridge.behave(status(500));
    await detail.getByRole("button", { name: "Send test event" }).click();
    const advice = detail.locator(".test-event .notice");
    await advice.getByText("answered with 500 instead of 2xx").waitFor();
    await label.getByText("Failing").waitFor();
    await row.getByText("Failing").waitFor();

    bridge.behave(status(204));
    const event = { workspaceId: bridge.workspaceId, content: create("c1") };
    await push.publish(event);
    await label.getByText("Recovered").waitFor();
    await row.getByText("Recovered").waitFor();
    await untilCount(detail.locator(".health-advice"), 0);
    await advice.getByText("The bridge has accepted a push since this test.").waitFor();
    await untilCount(advice.getByText("instead of 2xx"), 0);

    // Failures, then successes, then failures again: the bridge has not recovered.
    bridge.behave(status(500));
    await push.ping(bridge.workspaceId);
    bridge.behave(status(204));
    await push.ping(bridge.workspaceId);
    await label.getByText("Degraded").waitFor();
    await row.getByText("Degraded").waitFor();
    await detail.locator(".health-advice").getByText("answered with 500").waitFor();
  });
});

test("on a phone, a workspace's page begins with the name, the state and the hook URL, and ends with the log", async () => {
  const bridge = await push.bridge();
  await push.ping(bridge.workspaceId);
  const path = `/workspaces/${bridge.workspaceId}`;
  const { page } = await browser.visitSignedIn(dashboardUrl, path, { viewport: PHONE });
  await page.locator(".log-row").first().waitFor();
  const parts = [
    "h1",
    ".liveness",
    ".addresses",
    ".page-tabs",
    ".health",
    ".next-steps",
    ".test-event",
    ".traffic",
    ".log",
  ];
  const tops = await page.evaluate<number[]>(
    `${JSON.stringify(parts)}.map((part) => document.querySelector(part).getBoundingClientRect().top)`,
  );
  expect(tops).toEqual(tops.toSorted((a, b) => a - b));
  const hook = `${url}/hooks/${bridge.workspaceId}`;
  await page.getByText(hook, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Copy the hook URL" }).click();
  await page.getByText("Copied the hook URL.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(hook);
});

test("the pages link to the API reference and the guides, which link back to the dashboard", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await page.getByRole("link", { name: "Bridge guide" }).click();
  await page.getByRole("heading", { name: "Writing a bridge", level: 1 }).waitFor();
  await expectUsable(page, "bridge guide", [PHONE, DESKTOP]);
  await page.getByRole("link", { name: "Chat bridge", exact: true }).click();
  await page.getByRole("heading", { name: "Workspaces" }).waitFor();
  await page.getByRole("link", { name: "API reference" }).click();
  await page.waitForURL(`${dashboardUrl}/docs`);
});
