import { startBrowser, untilFocused, type TestBrowser } from "../harness/browser";
import { sharedPush } from "../harness/push";
import { until } from "../harness/wait";

const push = sharedPush();
let browser: TestBrowser;
let polling: { readonly id: string };
beforeAll(async () => {
  browser = await startBrowser();
  polling = await push.workspaces.make({ name: "Harbour quiz night" });
}, 120_000);
afterAll(async () => {
  await browser.close();
});
jest.setTimeout(120_000);

test("all of it is reached and left by the keyboard, and the focus is always to be seen", async () => {
  const { page, leave } = await browser.visitSignedIn(push.service.dashboardUrl);
  const focused = () =>
    page.evaluate<string>("(document.activeElement?.ariaLabel || document.activeElement?.textContent) ?? ''");
  // A new page is read from its heading on.
  await untilFocused(page, "Workspaces");
  await page.getByRole("row").nth(1).waitFor();
  const reached: string[] = [];
  for (const _ of Array(4)) {
    await page.keyboard.press("Tab");
    reached.push(await focused());
    const outline = await page.evaluate<string>(
      "[document.activeElement, '::after'].reduce((e, after) => getComputedStyle(e).outlineStyle + getComputedStyle(e, after).outlineStyle)",
    );
    expect(outline).toContain("solid");
  }
  expect(reached.slice(0, 2)).toEqual([
    "Connect a workspace",
    "Search by name, id, owner's e-mail or target URL",
  ]);

  await page.goto(`${push.service.dashboardUrl}/workspaces/${polling.id}`);
  await untilFocused(page, "Harbour quiz night");
  const rotate = page.getByRole("button", { name: "Rotate", exact: true });
  await rotate.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  for (const _ of Array(5)) await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await untilFocused(page, "Rotate");

  // What comes before the page can be skipped.
  const skip = page.getByRole("link", { name: "Skip to the page" });
  await skip.focus();
  expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
  await page.keyboard.press("Enter");
  const isAtPage = "document.activeElement.id === 'main'";
  await until("the focus is past it", () => page.evaluate<boolean>(isAtPage), 30_000);
  await leave();
});

test("a change of health is read out, and what was done too", async () => {
  const bridge = await push.bridge();
  const { page, leave } = await browser.visitSignedIn(
    push.service.dashboardUrl,
    `/workspaces/${bridge.workspaceId}`,
  );
  const statuses = page.getByRole("status");
  await statuses.getByText("Nothing pushed").waitFor();
  await push.ping(bridge.workspaceId);
  await statuses.getByText("Pushing").waitFor();
  await page.getByRole("button", { name: "Copy the workspace id" }).click();
  await statuses.getByText("Copied the workspace id.").waitFor();
  await leave();
});
