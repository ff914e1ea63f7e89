import type { Page } from "playwright-core";
import { testBrowser } from "../harness/browser";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

/** A shorter answer fits in one packet even without compression. */
const SHORT_BYTES = 1_000;
const TEXT = /^(?:text\/(?:html|css|javascript)|application\/(?:javascript|json)|image\/svg)/;

interface Loaded {
  readonly url: string;
  readonly bytes: number;
  readonly isCompressed: boolean;
}

/** Records the texts that a page loads. Returns the function that returns them. */
function record(page: Page): () => Promise<readonly Loaded[]> {
  const loading: Promise<Loaded | undefined>[] = [];
  page.on("requestfinished", (request) => {
    loading.push(
      (async (): Promise<Loaded | undefined> => {
        const answer = await request.response();
        const type = (await answer?.headerValue("content-type")) ?? "";
        if (answer === null || request.method() !== "GET" || !TEXT.test(type)) return undefined;
        const { responseBodySize: bytes } = await request.sizes();
        const isCompressed = (await answer.headerValue("content-encoding")) !== null;
        return { url: new URL(answer.url()).pathname, bytes, isCompressed };
      })().catch(() => undefined), // The page was closed.
    );
  });
  return async () => (await Promise.all(loading)).filter((loaded) => loaded !== undefined);
}

test.each<[page: string, path: (id: string) => string, words: RegExp]>([
  ["sign-in page", () => "/nobody-is-signed-in", /^Page not found$/],
  ["list of workspaces", () => "/", /^Workspaces$/],
  ["page for connecting", () => "/connect", /^Connect a workspace$/],
  ["page of a workspace", (id) => `/workspaces/${id}`, /^Weighed$/],
  ["settings of a workspace", (id) => `/workspaces/${id}/settings`, /^Weighed$/],
  ["list of guides", () => "/guides", /^Guides$/],
  ["bridge guide", () => "/guides/bridge-guide", /bridge/i],
  ["API reference", () => "/docs", /./],
])("the %s loads each text compressed and once", async (_page, path, words) => {
  const { id } = await service.workspaces.make({ name: "Weighed" });
  for (let i = 0; i < 20; i++) await publish(service.clients, textEvent(id, `event ${i}`));
  const { context } = await browser.visitSignedIn(dashboardUrl);
  const page = await context.newPage();
  const loaded = record(page);
  await page.goto(`${dashboardUrl}${path(id)}`);
  await page.getByRole("heading", { name: words, level: 1 }).waitFor();
  await until("the page has loaded everything", async () => {
    const before = (await loaded()).length;
    await page.waitForLoadState("load");
    return (await loaded()).length === before && before > 1;
  });
  const texts = await loaded();
  const plain = texts.filter(({ bytes, isCompressed }) => bytes > SHORT_BYTES && !isCompressed);
  expect(plain).toEqual([]);
  const urls = texts.map(({ url }) => url);
  // The list reads the states again every few seconds, so only the first load counts.
  const twice = urls.filter((url, i) => urls.indexOf(url) !== i && url !== "/api/health");
  expect(twice).toEqual([]);
});
