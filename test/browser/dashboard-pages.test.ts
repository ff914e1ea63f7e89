import type { Page } from "playwright-core";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import {
  beforeFirstPaint,
  DESKTOP,
  focusedWords,
  PHONE,
  testBrowser,
  untilFocused,
  type Visitor,
} from "../harness/browser";
import { create, update } from "../harness/contents";
import { sharedPush, type PushedBridge } from "../harness/push";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const push = sharedPush();
const { dashboardUrl } = push.service;
const browser = testBrowser();
let failing: PushedBridge;
let fresh: PushedBridge;
let polling: { readonly id: string; readonly secret: string };
let visitor: Visitor;

beforeAll(async () => {
  polling = await push.workspaces.make({ name: "Harbour quiz night", ownerEmail: "ada@example.com" });
  await push.publish({ workspaceId: polling.id, content: create("c1") });
  await poll(push.service.url, polling);
  fresh = await push.bridge();
  failing = await push.bridge();
  const { workspaceId } = failing;
  await push.workspaces.update(workspaceId, { name: "Friday trivia" });
  await push.publish(...Array.from({ length: 6 }, () => ({ workspaceId, content: create("c1") })));
  await failing.waitFor(6);
  failing.behave(status(500));
  await push.publish({ workspaceId, content: update("c1") });
  await push.logged(workspaceId, 7);
  await push.workspaces.disconnect((await push.workspaces.make({ name: "Closed club" })).id);
  visitor = await browser.visitSignedIn(dashboardUrl);
});

const pageOf = (workspaceId: string): string => `/workspaces/${workspaceId}`;

/** The pages, each with an action that the test completes before it checks the page. */
const PAGES: readonly (readonly [
  string,
  path: string | (() => string),
  act: (page: Page) => Promise<unknown>,
])[] = [
  ["the list", "/", (page) => page.getByText("Failing").first().waitFor()],
  [
    "a search without results",
    "/?search=no+such+name",
    (page) => page.getByText("Nothing matches").waitFor(),
  ],
  [
    "the form that connects a workspace",
    "/connect",
    async (page) => {
      await page.getByRole("radio", { name: /^Push \(webhook\)/ }).check();
      await page.getByLabel("Name").fill("x".repeat(20));
      await page.getByLabel("Target URL").fill("https://127.0.0.1:1/events?a");
    },
  ],
  [
    "the form that connects a workspace, with an error,",
    "/connect",
    async (page) => {
      // The field still contains the text that an earlier test typed.
      await page.getByLabel("Name").fill("");
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByText("Enter a name.").waitFor();
    },
  ],
  [
    "the page with a new secret",
    "/connect",
    async (page) => {
      await page.getByLabel("Name").fill("The lighthouse keepers' chat");
      await page.getByRole("button", { name: "Connect" }).click();
      await page.locator("[data-secret]").waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
    },
  ],
  [
    "the page of a new push workspace",
    () => pageOf(fresh.workspaceId),
    (page) => page.getByText("0 of 4 done").waitFor(),
  ],
  [
    "the page of a poll workspace",
    () => pageOf(polling.id),
    async (page) => {
      await page.getByText("Live", { exact: true }).waitFor();
      await page.locator(".log-row").first().waitFor();
    },
  ],
  [
    "the page of a failing push workspace after a test event, with open details,",
    () => pageOf(failing.workspaceId),
    async (page) => {
      await page.getByRole("button", { name: "Send test event" }).click();
      await page.locator(".steps li.failed").waitFor();
      await page.locator(".log-row", { hasText: "ping" }).first().getByRole("button").click();
      await page.getByText("The bridge's response").waitFor();
    },
  ],
  [
    "a dialog",
    () => `${pageOf(polling.id)}/settings`,
    async (page) => {
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").waitFor();
    },
  ],
  [
    "the page of a workspace that does not exist",
    "/workspaces/11111111-2222-4333-8444-555555555555",
    (page) => page.getByRole("heading", { name: "There is no such workspace" }).waitFor(),
  ],
  [
    "the page of an unknown address",
    "/no-such-page",
    (page) => page.getByRole("heading", { name: "Page not found" }).waitFor(),
  ],
  [
    "the page of all guides",
    "/guides",
    (page) => page.getByRole("heading", { name: "Guides", exact: true }).waitFor(),
  ],
];

test.each(PAGES)(
  "%s is accessible and fits the window, in both themes, on a desktop and on a phone",
  async (name, path, act) => {
    await visitor.page.goto(`${dashboardUrl}${typeof path === "string" ? path : path()}`);
    await act(visitor.page);
    await expectUsable(visitor.page, name);
  },
);

test("the sign-in page is accessible and fits the window, in both themes, on a desktop and on a phone", async () => {
  const { page } = await browser.visit(dashboardUrl);
  await page.getByLabel("Operator's token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("This is not an operator's token.").waitFor();
  await expectUsable(page, "sign-in");
});

test.each([
  ["a phone", PHONE],
  ["a desktop", DESKTOP],
])(
  "on %s, a new workspace's health comes before the list of next steps, both on the screen and in the reading order",
  async (_what, viewport) => {
    const { page } = visitor;
    await page.setViewportSize(viewport);
    await page.goto(`${dashboardUrl}${pageOf(fresh.workspaceId)}`);
    await page.getByText("0 of 4 done").waitFor();
    const cards = page.locator(".overview .card");
    const titles = await cards.getByRole("heading", { level: 2 }).allInnerTexts();
    expect(titles.map((title) => title.trim())).toEqual([
      "Health",
      "What to do next",
      "Test event",
      "Requests from the bridge",
    ]);
    const [health, next, test] = await Promise.all([0, 1, 2].map((at) => cards.nth(at).boundingBox()));
    expect(next?.y).toBeGreaterThan(health?.y ?? Infinity);
    expect(test?.y).toBeGreaterThan(health?.y ?? Infinity);
  },
);

test("the Tab key moves a visible focus from control to control; a closed dialog returns the focus to the button that opened it", async () => {
  const { page } = visitor;
  await page.goto(`${dashboardUrl}/`);
  // When a page opens, its heading has the focus, so a screen reader starts there.
  await untilFocused(page, "Workspaces");
  await page.getByRole("row").nth(1).waitFor();
  const reached: string[] = [];
  for (const _ of Array(4)) {
    await page.keyboard.press("Tab");
    reached.push(await focusedWords(page));
    const outline = await page.evaluate<string>(
      "[document.activeElement, '::after'].reduce((e, after) => getComputedStyle(e).outlineStyle + getComputedStyle(e, after).outlineStyle)",
    );
    expect(outline).toContain("solid");
  }
  const search = "Search by name, id, owner's email or target URL";
  expect(reached.slice(0, 2)).toEqual(["Connect a workspace", search]);

  await page.goto(`${dashboardUrl}${pageOf(polling.id)}/settings`);
  await untilFocused(page, "Harbour quiz night");
  await page.getByRole("button", { name: "Rotate", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  for (const _ of Array(5)) await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await untilFocused(page, "Rotate");
});

test("if the user moves the focus while the first page loads, the focus stays there", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await beforeFirstPaint(page, ".skip", "element.focus();");
  await page.reload();
  await page.getByRole("row").nth(1).waitFor();
  expect(await focusedWords(page)).toBe("Skip to the page");
});

test("the first link skips to the content of the page", async () => {
  const { page } = visitor;
  await page.goto(`${dashboardUrl}/`);
  const skip = page.getByRole("link").first();
  expect(await skip.innerText()).toBe("Skip to the page");
  await skip.focus();
  expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
  await page.keyboard.press("Enter");
  const hasArrived = "document.activeElement.id === 'main'";
  await until("the focus is on the content", () => page.evaluate<boolean>(hasArrived));
});

test("screen readers are notified when the health changes and when an action is finished", async () => {
  const bridge = await push.bridge();
  const { page } = visitor;
  await page.goto(`${dashboardUrl}${pageOf(bridge.workspaceId)}`);
  const statuses = page.getByRole("status");
  await statuses.getByText("Nothing pushed").waitFor();
  await push.ping(bridge.workspaceId);
  await statuses.getByText("Healthy").waitFor();
  await page.getByRole("button", { name: "Copy the workspace id" }).click();
  await statuses.getByText("Copied the workspace id.").waitFor();
});
