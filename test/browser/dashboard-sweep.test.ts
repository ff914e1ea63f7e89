import { DESKTOP, PHONE, testBrowser, type Visitor } from "../harness/browser";
import { expectInOrder, expectTabOrder } from "../harness/reading-order";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { expectUsable } from "../harness/usable";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

/** The size of a window of 1,280 pixels at a zoom of 400 percent, and of one at 200 percent. */
const ZOOMED = { width: 320, height: 256 };
const HALF_ZOOMED = { width: 640, height: 450 };
const SIZES = [ZOOMED, HALF_ZOOMED, DESKTOP, PHONE];
/** A name with long words, with text from right to left, and with characters that have a meaning in HTML. */
const NAME = 'محمد <b>"Unbreakable'.padEnd(80, "x");

let visitor: Visitor;
let id: string;
beforeAll(async () => {
  ({ id } = await service.workspaces.make({ name: NAME }));
  for (let i = 0; i < 3; i++) await publish(service.clients, textEvent(id, `event ${i}`));
  visitor = await browser.visitSignedIn(dashboardUrl);
});

test.each<[name: string, path: () => string, heading: string | RegExp]>([
  ["the list", () => "/", "Workspaces"],
  ["the page for connecting", () => "/connect", "Connect a workspace"],
  ["the page of a workspace", () => `/workspaces/${id}`, NAME],
  ["the settings of a workspace", () => `/workspaces/${id}/settings`, NAME],
  ["the page for an unknown workspace", () => `/workspaces/${id.replaceAll(/\d/g, "0")}`, /./],
  ["the page for an unknown address", () => "/nowhere", "Page not found"],
  ["the list of guides", () => "/guides", /./],
  ["a guide", () => "/guides/upgrade", /./],
  ["the API reference", () => "/docs", /./],
])(
  "%s works at every size, in both themes, and with the keyboard alone in the order that one sees",
  async (name, path, heading) => {
    const { page } = visitor;
    await page.goto(`${dashboardUrl}${path()}`);
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    if (path() === "/docs") await page.locator(".opblock").last().waitFor();
    await expectUsable(page, `sweep ${name}`, SIZES);
    await expectInOrder(page, SIZES);
    await expectTabOrder(page, [DESKTOP, PHONE]);
  },
);

test("the sign-in page works at every size, in both themes, and with the keyboard alone", async () => {
  const { page } = await browser.visit(dashboardUrl);
  await page.getByLabel("Operator's token").waitFor();
  await expectUsable(page, "sweep the sign-in page", SIZES);
  await expectInOrder(page, SIZES);
  await expectTabOrder(page, [DESKTOP, PHONE]);
});
