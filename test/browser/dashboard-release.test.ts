import type { Page } from "playwright-core";
import { PHONE, testBrowser, untilCount } from "../harness/browser";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

/** Makes the server's answers name the script of another release, and the build time of that release. */
const upgrade = (page: Page, built?: string): Promise<unknown> =>
  page.route("**/api/**", async (route) => {
    const answer = await route.fetch();
    const headers = {
      ...answer.headers(),
      "x-dashboard-script": "/assets/index-newer.js",
      ...(built === undefined ? {} : { "x-dashboard-built": built }),
    };
    await route.fulfill({ response: answer, headers });
  });
const line = (page: Page) => page.getByText("A new version is running.");

test("a page asks the user to reload when a new version runs, and the reload keeps typed text", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl, "/connect");
  await page.getByLabel("Name").fill("Half typed <b>name</b>");
  await page.getByLabel("Push (webhook)").check();
  await page.getByLabel("Target URL").fill("https://bridge.example/events");
  await untilCount(line(page), 0);
  await upgrade(page);
  // The page notices the new version with its next request.
  await page.getByLabel("Owner's email").fill("not an address");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await line(page).waitFor();
  await page.unroute("**/api/**");
  await page.getByRole("button", { name: "Reload" }).click();
  await untilCount(line(page), 0);
  await page.getByRole("heading", { name: "Connect a workspace" }).waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("Half typed <b>name</b>");
  expect(await page.getByLabel("Owner's email").inputValue()).toBe("not an address");
  expect(await page.getByLabel("Target URL").inputValue()).toBe("https://bridge.example/events");
  // The page deletes the stored draft after the reload.
  expect(await page.evaluate("sessionStorage.getItem('drafts')")).toBeNull();
});

test("an open list notices a new version by itself, and on a phone, the notice covers no content", async () => {
  await service.workspaces.make();
  const { page } = await browser.visitSignedIn(dashboardUrl, "/", { viewport: PHONE, hasTouch: true });
  await upgrade(page);
  await line(page).waitFor();
  await page.getByRole("link", { name: "All guides" }).scrollIntoViewIfNeeded();
  await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
  const [last, notice] = await Promise.all([
    page.locator(".time-zone").boundingBox(),
    page.locator(".new-release p").boundingBox(),
  ]);
  expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(notice?.y ?? 0);
  expect(notice?.width).toBeLessThanOrEqual(PHONE.width);
});

test("a draft of a workspace's settings survives a reload, but not a visit to another page", async () => {
  const { id } = await service.workspaces.make({ name: "Stored" });
  const { page } = await browser.visitSignedIn(dashboardUrl, `/workspaces/${id}/settings`);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Typed");
  await page.reload();
  expect(await name.inputValue()).toBe("Typed");
  await page.getByRole("link", { name: "Workspaces", exact: true }).first().click();
  await page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  await page.reload();
  await page.goto(`${dashboardUrl}/workspaces/${id}/settings`);
  expect(await name.inputValue()).toBe("Stored");
});

test("a page does not ask for a reload while servers of an older release also answer during an upgrade", async () => {
  await service.workspaces.make();
  const { page } = await browser.visitSignedIn(dashboardUrl);
  await upgrade(page, "1000000000000");
  for (const path of ["**/api/summaries?*", "**/api/counts", "**/api/summaries?*"]) {
    await page.waitForResponse(path);
  }
  await untilCount(line(page), 0);
  await page.unroute("**/api/**");
  await upgrade(page, "9000000000000");
  await line(page).waitFor();
});

test("a page whose script is missing says so, and offers to load the page again", async () => {
  const { page } = await browser.visit("about:blank");
  await page.route("**/assets/index-*.js", (route) => route.fulfill({ status: 404 }));
  await page.goto(`${dashboardUrl}/connect`);
  await page.getByText("This page cannot be loaded completely").waitFor();
  await page.unroute("**/assets/index-*.js");
  await page.getByRole("link", { name: "Load the page again" }).click();
  await page.getByLabel("Operator's token").waitFor();
  expect(new URL(page.url()).pathname).toBe("/connect");
  await untilCount(page.getByText("This page cannot be loaded completely"), 0);
});
