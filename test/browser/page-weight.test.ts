import { testBrowser } from "../harness/browser";
import { expectLight, recordTexts } from "../harness/loaded-texts";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

// The list of workspaces requests the states again every few seconds.
const isRepeated = (path: string) => path === "/api/health";

test.each<[page: string, path: (id: string) => string, words: RegExp]>([
  ["page for an unknown address", () => "/nowhere", /^Page not found$/],
  ["list of workspaces", () => "/", /^Workspaces$/],
  ["page for connecting", () => "/connect", /^Connect a workspace$/],
  ["page of a workspace", (id) => `/workspaces/${id}`, /^Weighed$/],
  ["settings of a workspace", (id) => `/workspaces/${id}/settings`, /^Weighed$/],
  ["list of guides", () => "/guides", /^Guides$/],
  ["bridge guide", () => "/guides/bridge-guide", /bridge/i],
  ["API reference", () => "/docs", /./],
])("the %s loads only compressed texts, each once", async (_page, path, words) => {
  const { id } = await service.workspaces.make({ name: "Weighed" });
  for (let i = 0; i < 20; i++) await publish(service.clients, textEvent(id, `event ${i}`));
  const { context } = await browser.visitSignedIn(dashboardUrl);
  const page = await context.newPage();
  const loaded = recordTexts(page);
  await page.goto(`${dashboardUrl}${path(id)}`);
  await page.getByRole("heading", { name: words, level: 1 }).waitFor();
  if (path(id) === "/docs") await page.locator(".opblock").last().waitFor();
  await expectLight(page, loaded, isRepeated);
});

test("the sign-in page loads only compressed texts, each once", async () => {
  const { page } = await browser.visit("about:blank");
  const loaded = recordTexts(page);
  await page.goto(dashboardUrl);
  await page.getByLabel("Operator's token").waitFor();
  await expectLight(page, loaded, isRepeated);
});
