import { DESKTOP, PHONE, testBrowser } from "../harness/browser";
import { docBlocks } from "../harness/doc-blocks";
import { sharedService } from "../harness/shared-service";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const { dashboardUrl } = sharedService();
const browser = testBrowser();
const GUIDE = `${dashboardUrl}/guides/bridge-guide`;
const [FIRST_CODE = ""] = docBlocks("docs/bridge-guide.md", "sh");

test("in a wide window, the table of contents stays beside the text, and a click on an entry shows its section", async () => {
  const { page } = await browser.visit(GUIDE);
  const contents = page.getByRole("navigation", { name: "On this page" });
  await contents.getByRole("link", { name: "Signatures", exact: true }).click();
  const heading = page.getByRole("heading", { name: "Signatures", exact: true });
  await until("the section is at the top", async () => ((await heading.boundingBox())?.y ?? -1) < 100);
  await contents.getByRole("link", { name: "Poll", exact: true }).waitFor();
  expect((await contents.boundingBox())?.y).toBeGreaterThanOrEqual(0);
});

test("on a phone, the table of contents is collapsed above the text, and can be opened with the keyboard", async () => {
  const { page } = await browser.visit(GUIDE, { viewport: PHONE });
  const contents = page.getByRole("navigation", { name: "On this page" });
  const link = contents.getByRole("link", { name: "Signatures", exact: true });
  expect([await contents.count(), await link.isVisible()]).toEqual([1, false]);
  await contents.getByText("On this page").focus();
  await page.keyboard.press("Enter");
  await link.waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#start$/);
});

test("the button of a code block copies the code, and says so", async () => {
  const { page } = await browser.visit(GUIDE);
  await page.getByRole("button", { name: "Copy code 1 of “Start”" }).click();
  await page.getByRole("status").getByText("Copied.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(FIRST_CODE.trimEnd());
  const buttons = await page.locator(".copy").count();
  expect([buttons, await page.locator(".copy:visible").count()]).toEqual([
    await page.locator("pre").count(),
    buttons,
  ]);
});

test("if the browser does not allow copying, the button selects the code, and says so", async () => {
  const { page } = await browser.visit(GUIDE, { permissions: [] });
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))");
  await page.getByRole("button", { name: "Copy code 1 of “Start”" }).click();
  await page.getByRole("status").getByText("did not allow").waitFor();
  expect(String(await page.evaluate("getSelection().toString()")).trimEnd()).toBe(FIRST_CODE.trimEnd());
});

test("without JavaScript, a guide shows its text and its table of contents, but no buttons that would do nothing", async () => {
  const { page } = await browser.visit(GUIDE, { javaScriptEnabled: false });
  await page.getByRole("heading", { name: "Writing a bridge" }).waitFor();
  await page.getByRole("navigation", { name: "On this page" }).getByRole("link", { name: "Start" }).click();
  await page.waitForURL(/#start$/);
  expect(await page.getByRole("button").count()).toBe(0);
});

test("a keyboard user can skip to the text, and can return to the dashboard", async () => {
  const { page } = await browser.visit(GUIDE);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until("the text has the focus", () => page.evaluate<boolean>("document.activeElement.id === 'main'"));
  await page.getByRole("link", { name: "Workspaces" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Operator's token").waitFor();
});

test.each([
  ["the guide for bridges", "bridge-guide", { width: 320, height: 640 }],
  ["the guide for traces, which has pictures", "tracing", PHONE],
  ["the page of problems, which has long tables", "troubleshooting", DESKTOP],
])("%s is accessible and fits the window, in both themes, also at 640 px", async (_what, name, size) => {
  const { page } = await browser.visit(`${dashboardUrl}/guides/${name}`);
  await expectUsable(page, name, [size, { width: 640, height: 450 }]);
});
