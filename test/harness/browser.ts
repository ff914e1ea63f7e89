import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { askApi } from "./dashboard";
import { TOKENS } from "./processes";
import { connectToBrowser } from "./shared-browsers";
import { HANG_MS, until } from "./wait";

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

export type TestBrowser = ReturnType<typeof testBrowser>;
/** A simulated user with a separate browser context. */
export type Visitor = Awaited<ReturnType<TestBrowser["visit"]>>;

/**
 * The worker's browser, for the tests of a file. A test fails if a page has an error or violates its content security
 * policy. A visitor that a test creates is closed after the test; a visitor that a `beforeAll` hook creates stays for
 * all tests of the file.
 */
export function testBrowser() {
  let browser: Browser;
  const faults: string[] = [];
  const visiting = new Set<BrowserContext>();
  let resident = new Set<BrowserContext>();
  beforeAll(async () => {
    browser = await connectToBrowser();
  });
  beforeEach(() => void (resident = new Set(visiting)));
  afterEach(async () => {
    const leaving = [...visiting].filter((context) => !resident.has(context));
    await Promise.all(leaving.map((context) => context.close()));
    for (const context of leaving) visiting.delete(context);
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(() => browser.close());

  async function visit(url: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({
      viewport: DESKTOP,
      colorScheme: "light",
      timezoneId: "Europe/Lisbon",
      locale: "en-GB",
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    visiting.add(context);
    context.setDefaultTimeout(HANG_MS);
    /**
     * The console's messages about this visitor's failed requests. Some tests expect failed requests, so these
     * messages are not faults.
     */
    const refusals: string[] = [];
    context.on("weberror", (error) => faults.push(error.error().message));
    context.on("console", (said) => {
      if (said.type() !== "error") return;
      (said.text().includes("Failed to load resource") ? refusals : faults).push(said.text());
    });
    const page = await context.newPage();
    await page.goto(url);
    return { page, context, refusals };
  }

  return {
    visit,
    async visitSignedIn(url: string, path = "/", options?: BrowserContextOptions) {
      const visitor = await visit(`${url}${await signInPath(url)}`, options);
      await visitor.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
      if (path !== "/") await visitor.page.goto(`${url}${path}`);
      return visitor;
    },
  };
}

/**
 * Waits until `locator` matches exactly `count` elements. A page renders only some time after the event that it shows.
 */
export async function untilCount(locator: Locator, count: number): Promise<void> {
  await until(`${count} elements of ${String(locator)}`, async () => (await locator.count()) === count);
}

/** Waits until all animations of the page have ended, except endless animations. */
export async function untilStill(page: Page): Promise<void> {
  const isStill =
    "document.getAnimations().every(({ playState, effect }) => playState !== 'running' || effect.getComputedTiming().endTime === Infinity)";
  await until("all animations have ended", () => page.evaluate<boolean>(isStill));
}

/** Returns the label or the text of the element that has the focus. */
export function focusedWords(page: Page): Promise<string> {
  return page.evaluate<string>(
    "((document.activeElement?.ariaLabel || document.activeElement?.textContent) ?? '').trim()",
  );
}

/** Waits until the element with this label or text has the focus. A page moves the focus a moment after a change. */
export async function untilFocused(page: Page, words: string): Promise<void> {
  await until(`the focus is on ${words}`, async () => (await focusedWords(page)) === words);
}

/**
 * On each later load of the page, runs a script as soon as the element exists, before the browser draws the element.
 * The script can use the element as the variable `element`.
 */
export function beforeFirstPaint(page: Page, selector: string, script: string): Promise<unknown> {
  return page.addInitScript(`
    new MutationObserver((_, observer) => {
      const element = document.querySelector(${JSON.stringify(selector)});
      if (element === null) return;
      observer.disconnect();
      ${script}
    }).observe(document, { childList: true, subtree: true });
  `);
}

export async function signInPath(url: string): Promise<string> {
  const authorization = `Bearer ${TOKENS.operator}`;
  const { json } = await askApi(url, "/sign-in-links", { method: "POST", headers: { authorization } });
  return (json as { path: string }).path;
}
