import type { Page } from "playwright-core";
import { poll } from "../harness/bridge";
import { testBrowser, untilCount } from "../harness/browser";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
const browser = testBrowser();

/** Opens the page of a new workspace. `logReads` collects the page's requests for the workspace's log. */
async function openPage() {
  const workspace = await service.workspaces.make();
  await poll(service.url, workspace);
  const { page } = await browser.visitSignedIn(service.dashboardUrl);
  await page.clock.install();
  const logReads: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith(`/api/workspaces/${workspace.id}/deliveries`)) logReads.push(request.url());
  });
  await page.goto(`${service.dashboardUrl}/workspaces/${workspace.id}`);
  await isLive(page);
  await untilCount(page.locator(".log-row"), 1);
  return { page, workspace, logReads };
}

const isLive = (page: Page) => page.getByText("Live", { exact: true }).waitFor();

/** Sets whether the page is hidden. The test sets this, because a headless browser never hides a page. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event("visibilitychange"));
  `);

test("a page reads its workspace's log once, even if the page is hidden for a moment; later deliveries arrive in its stream", async () => {
  const { page, workspace, logReads } = await openPage();
  await setHidden(page, true);
  await service.workspaces.sendTestEvent(workspace.id);
  await setHidden(page, false);
  await poll(service.url, workspace);
  await page.locator(".log-row", { hasText: "1 event" }).waitFor();
  await isLive(page);
  expect(logReads).toHaveLength(1);
});

// time: controlled
test("a page that was hidden for a minute is not live, and reads the log again when it is visible", async () => {
  const { page, workspace, logReads } = await openPage();
  await setHidden(page, true);
  await page.clock.fastForward(60_000);
  await untilCount(page.getByText("Live", { exact: true }), 0);
  await service.workspaces.sendTestEvent(workspace.id);
  await poll(service.url, workspace);
  expect(logReads).toHaveLength(1);
  await setHidden(page, false);
  await page.locator(".log-row", { hasText: "1 event" }).waitFor();
  await isLive(page);
  expect(logReads).toHaveLength(2);
});
