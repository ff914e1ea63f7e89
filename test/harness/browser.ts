import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { findChromium } from "./chromium";
import { askApi } from "./dashboard";
import { TOKENS } from "./processes";
import { until } from "./wait";

const ARGUMENTS =
  "--no-sandbox --headless --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run --disable-quic";
/** The machine may be busy with other things. */
const WITHIN_MS = 30_000;

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

export interface VisitOptions {
  readonly colours?: "light" | "dark";
  readonly size?: { readonly width: number; readonly height: number };
  readonly timeZone?: string;
}

/** Somebody at the dashboard, with a browser of their own. */
export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What went wrong in the page: errors, and what its content security policy held back. */
  readonly faults: readonly string[];
  leave(): Promise<void>;
}

export interface TestBrowser {
  visit(url: string, options?: VisitOptions): Promise<Visitor>;
  /** Visits by a sign-in link. */
  visitSignedIn(url: string, path?: string, options?: VisitOptions): Promise<Visitor>;
  close(): Promise<void>;
}

export async function startBrowser(): Promise<TestBrowser> {
  const browser: Browser = await chromium.launch({
    executablePath: await findChromium(),
    args: ARGUMENTS.split(" "),
    timeout: 60_000,
  });

  async function visit(url: string, options: VisitOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({
      viewport: options.size ?? DESKTOP,
      colorScheme: options.colours ?? "light",
      timezoneId: options.timeZone ?? "Europe/Lisbon",
      locale: "en-GB",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const page = await context.newPage();
    page.setDefaultTimeout(WITHIN_MS);
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (said) => {
      // Refusals are expected where a test asks for one.
      if (said.type() === "error" && !/Failed to load resource/.test(said.text())) faults.push(said.text());
    });
    await page.goto(url);
    return { page, context, faults, leave: () => context.close() };
  }

  return {
    visit,
    async visitSignedIn(url, path = "/", options) {
      const visitor = await visit(`${url}${await signInPath(url)}`, options);
      await visitor.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
      if (path !== "/") await visitor.page.goto(`${url}${path}`);
      return visitor;
    },
    close: () => browser.close(),
  };
}

/** Waits until what moves in the page has come to rest, but for what never does: a colour on its way is nobody's choice. */
export async function untilStill(page: Page): Promise<void> {
  const isStill =
    "document.getAnimations().every(({ playState, effect }) => playState !== 'running' || effect.getComputedTiming().endTime === Infinity)";
  await until("nothing moves", () => page.evaluate<boolean>(isStill), WITHIN_MS);
}

/** Waits until what has the focus is called this: a page moves the focus a moment after it has changed. */
export async function untilFocused(page: Page, words: string): Promise<void> {
  const focused = "((document.activeElement?.ariaLabel || document.activeElement?.textContent) ?? '').trim()";
  await until(
    `the focus is on ${words}`,
    async () => (await page.evaluate<string>(focused)) === words,
    WITHIN_MS,
  );
}

/** The path of a link that signs in once. */
export async function signInPath(url: string): Promise<string> {
  const authorization = `Bearer ${TOKENS.operator}`;
  const { json } = await askApi(url, "/sign-in-links", { method: "POST", headers: { authorization } });
  return (json as { path: string }).path;
}
