import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { status } from "../harness/behaviours";
import { DESKTOP, PHONE, startBrowser, untilStill, type TestBrowser, type Visitor } from "../harness/browser";
import { poll } from "../harness/bridge";
import { create, update } from "../harness/contents";
import { sharedPush, type PushedBridge } from "../harness/push";

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/** Set to look at the pages: a picture of each is put there. */
const PICTURES = process.env["DASHBOARD_PICTURES"];

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Everything that axe finds fault with, serious or not. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  await untilStill(page);
  const found = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)");
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** Declares tests that everyone can use each page, in these colours, and that it fits a desktop and a phone. */
export function testPages(colours: "light" | "dark"): void {
  const push = sharedPush();
  const { dashboardUrl } = push.service;
  let browser: TestBrowser;
  let failing: PushedBridge;
  let polling: { readonly id: string; readonly secret: string };
  beforeAll(async () => {
    browser = await startBrowser();
    polling = await push.workspaces.make({ name: "Harbour quiz night", ownerEmail: "ada@example.com" });
    await push.publish({ workspaceId: polling.id, content: create("c1") });
    await poll(push.service.url, polling);
    failing = await push.bridge();
    await push.workspaces.update(failing.workspaceId, { name: "Friday trivia" });
    for (const _ of Array(6)) await push.publish({ workspaceId: failing.workspaceId, content: create("c1") });
    await failing.waitFor(6);
    failing.behave(status(500));
    await push.publish({ workspaceId: failing.workspaceId, content: update("c1") });
    await push.logged(failing.workspaceId, 7);
    const off = await push.workspaces.make({ name: "Closed club" });
    await push.workspaces.disconnect(off.id);
  }, 120_000);
  afterAll(async () => {
    await browser.close();
  });

  /** The pages, each brought to where there is something to see. */
  const PAGES: readonly (readonly [name: string, go: (page: Page) => Promise<void>])[] = [
    [
      "the list",
      async (page) => {
        await page.goto(`${dashboardUrl}/`);
        await page.getByText("Failing").waitFor();
      },
    ],
    [
      "a search without a result",
      async (page) => {
        await page.goto(`${dashboardUrl}/?search=nothing+is+called+this`);
        await page.getByText("Nothing matches").waitFor();
      },
    ],
    [
      "connecting",
      async (page) => {
        await page.goto(`${dashboardUrl}/connect`);
        await page.getByRole("radio", { name: "It is pushed to" }).check();
        await page.getByLabel("Name").fill("x".repeat(20));
        await page.getByLabel("Target URL").fill("https://127.0.0.1:1/events?a");
      },
    ],
    [
      "a new secret",
      async (page) => {
        await page.goto(`${dashboardUrl}/connect`);
        await page.getByLabel("Name").fill("The lighthouse keepers' chat");
        await page.getByRole("button", { name: "Connect" }).click();
        await page.locator("[data-secret]").waitFor();
      },
    ],
    [
      "a poll workspace",
      async (page) => {
        await page.goto(`${dashboardUrl}/workspaces/${polling.id}`);
        await page.getByText("Live", { exact: true }).waitFor();
        await page.locator(".log tbody tr").first().waitFor();
      },
    ],
    [
      "a failing push workspace after a test event, with details open",
      async (page) => {
        await page.goto(`${dashboardUrl}/workspaces/${failing.workspaceId}`);
        await page.getByRole("button", { name: "Send test event" }).click();
        await page.locator(".steps li.failed").waitFor();
        const failed = page.locator(".log tbody tr", { hasText: "ping" }).first();
        await failed.getByRole("button", { name: /^Details of/ }).click();
      },
    ],
    [
      "a dialog",
      async (page) => {
        await page.goto(`${dashboardUrl}/workspaces/${polling.id}`);
        await page.getByRole("button", { name: "Delete" }).click();
        await page.getByRole("dialog").waitFor();
      },
    ],
    [
      "a workspace that is not there",
      async (page) => {
        await page.goto(`${dashboardUrl}/workspaces/11111111-2222-4333-8444-555555555555`);
        await page.getByRole("heading", { name: "There is no such workspace" }).waitFor();
      },
    ],
  ];

  describe.each([
    ["desktop", DESKTOP],
    ["phone", PHONE],
  ] as const)(`in ${colours} on a %s`, (device, size) => {
    let visitor: Visitor;
    beforeAll(async () => {
      visitor = await browser.visitSignedIn(dashboardUrl, "/", { colours, size });
    });
    afterAll(() => visitor.leave());

    test("signing in can be used by everyone", async () => {
      const { page, leave } = await browser.visit(dashboardUrl, { colours, size });
      await page.getByLabel("Operator's token").fill("wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("This is not an operator's token.").waitFor();
      await picture(page, `${colours}-${device}-sign-in`);
      expect(await violations(page)).toEqual([]);
      await leave();
    });

    test.each(PAGES)("%s can be used by everyone, and fits", async (name, go) => {
      const { page, faults } = visitor;
      await go(page);
      await picture(page, `${colours}-${device}-${name.replaceAll(/\W+/g, "-")}`);
      expect(await violations(page)).toEqual([]);
      expect(
        await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
      ).toBe(true);
      expect(faults).toEqual([]);
    });
  });
}
