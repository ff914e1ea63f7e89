import type { Page } from "playwright-core";
import { until } from "./wait";

/** A shorter answer fits in one packet even without compression. */
const SHORT_BYTES = 1_000;
const TEXT = /^(?:text\/(?:html|css|javascript)|application\/(?:javascript|json)|image\/svg)/;

export interface LoadedText {
  readonly url: string;
  readonly bytes: number;
  readonly isCompressed: boolean;
}

/** Records the texts that a page loads. Returns a function that returns the recorded texts. */
export function recordTexts(page: Page): () => Promise<readonly LoadedText[]> {
  const loading: Promise<LoadedText | undefined>[] = [];
  page.on("requestfinished", (request) => {
    loading.push(
      (async (): Promise<LoadedText | undefined> => {
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

/**
 * Waits until the page has loaded everything. Fails if a long text was not compressed, or if a text was loaded twice.
 *
 * @param isRepeated whether an open page reads this path regularly
 */
export async function expectLight(
  page: Page,
  loaded: () => Promise<readonly LoadedText[]>,
  isRepeated: (path: string) => boolean = () => false,
): Promise<void> {
  await until("the page has loaded everything", async () => {
    const before = (await loaded()).length;
    await page.waitForLoadState("load");
    return (await loaded()).length === before && before > 1;
  });
  const texts = await loaded();
  const plain = texts.filter(({ bytes, isCompressed }) => bytes > SHORT_BYTES && !isCompressed);
  expect(plain).toEqual([]);
  const urls = texts.map(({ url }) => url).filter((url) => !isRepeated(url));
  expect(urls.filter((url, i) => urls.indexOf(url) !== i)).toEqual([]);
}
