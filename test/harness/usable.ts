import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { DESKTOP, PHONE, untilStill } from "./browser";

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/** Set to look at the pages: a picture of each is put there. */
const PICTURES = process.env["PAGE_PICTURES"];

const THEMES = ["dark", "light"] as const;
type Size = typeof DESKTOP;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/**
 * Fails when axe finds any fault with the page as it stands, serious or not, or when the page is wider than its window,
 * in either theme. Leaves the page at the last of the sizes, in light colours.
 */
export async function expectUsable(
  page: Page,
  name: string,
  sizes: readonly Size[] = [PHONE, DESKTOP],
): Promise<void> {
  await page.evaluate(AXE);
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      await untilStill(page);
      const look = `${name}, ${colorScheme}, ${size.width} wide`;
      await picture(page, look);
      const found = await page.evaluate<readonly Violation[]>(
        "axe.run().then(({ violations }) => violations)",
      );
      const faults = found.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
      const fits = await page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth",
      );
      expect({ look, faults, fits }).toEqual({ look, faults: [], fits: true });
    }
  }
}

async function picture(page: Page, look: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${look.replaceAll(/\W+/g, "-")}.png`), fullPage: true });
}
