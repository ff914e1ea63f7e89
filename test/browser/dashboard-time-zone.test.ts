import { PHONE, testBrowser, untilFocused } from "../harness/browser";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

test("the pages name their time zone, and show all times in UTC if the user wants it, on a phone too", async () => {
  const { id } = await service.workspaces.make({ name: "Far away" });
  const options = { viewport: PHONE, hasTouch: true, timezoneId: "Pacific/Kiritimati" };
  const { page } = await browser.visitSignedIn(dashboardUrl, `/workspaces/${id}/settings`, options);
  await page.getByText("Times are in Pacific/Kiritimati (UTC+14).").waitFor();
  /** Returns each time of day on the page, as the page shows it and in UTC. */
  const times = () =>
    page.evaluate<[shown: string, utc: string][]>(
      "[...document.querySelectorAll('time')].map(({ textContent, dateTime }) => [textContent, dateTime.slice(11, 16)]).filter(([shown]) => /\\d\\d:\\d\\d/.test(shown))",
    );
  const areInUtc = async () => (await times()).map(([shown, utc]) => shown.includes(utc));
  await until("the page shows a time", async () => (await times()).length > 0);
  expect(await areInUtc()).not.toContain(true);
  await page.getByRole("button", { name: "Show UTC" }).tap();
  await page.getByText("Times are in UTC.").waitFor();
  expect(await areInUtc()).not.toContain(false);
  // The choice is saved, and applies to all pages.
  await page.goto(dashboardUrl);
  await page.getByText("Times are in UTC.").waitFor();
  await page.getByRole("button", { name: "Show Pacific/Kiritimati" }).press("Enter");
  await page.getByText("Times are in Pacific/Kiritimati (UTC+14).").waitFor();
  await untilFocused(page, "Show UTC");
});

test("in a browser whose time zone is UTC, the page has no button that switches to UTC", async () => {
  const { page } = await browser.visitSignedIn(dashboardUrl, "/", { timezoneId: "UTC" });
  await page.getByText("Times are in UTC.").waitFor();
  expect(await page.getByRole("button", { name: /^Show / }).count()).toBe(0);
});
