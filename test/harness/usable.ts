import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { DESKTOP, PHONE, untilStill } from "./browser";
import { until } from "./wait";

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const RESULTS = { resultTypes: ["violations"] };
/** Only axe's rules about colors depend on the theme, so axe checks the other rules only in the light theme. */
const AXE_OPTIONS = {
  dark: { ...RESULTS, runOnly: ["color-contrast", "link-in-text-block"] },
  light: RESULTS,
};
/** A folder for screenshots of the pages. Without PAGE_PICTURES, no screenshots are made. */
const PICTURES = process.env["PAGE_PICTURES"];

/**
 * Fails when axe finds a violation of any severity on the page, or when the page is wider than its window.
 * Checks both themes at each of `sizes`. Leaves the page at the last size, in the light theme, without animations.
 */
export async function expectUsable(page: Page, name: string, sizes = [PHONE, DESKTOP]): Promise<void> {
  await page.evaluate(AXE);
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await until(`the page is ${colorScheme}`, () => page.evaluate<boolean>(hasTheme(colorScheme)));
      await untilStill(page);
      const look = `${name}, ${colorScheme}, ${size.width} wide`;
      if (PICTURES !== undefined) {
        const path = join(PICTURES, `${look.replaceAll(/\W+/g, "-")}.png`);
        await page.screenshot({ path, fullPage: true });
      }
      const faults = await page.evaluate(
        `axe.run(${JSON.stringify(AXE_OPTIONS[colorScheme])}).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map((node) => \`\${id}: \${node.html} \${node.failureSummary}\`)))`,
      );
      const root = "document.documentElement";
      const fits = await page.evaluate(`${root}.scrollWidth <= ${root}.clientWidth`);
      expect({ look, faults, fits }).toEqual({ look, faults: [], fits: true });
    }
  }
}

/**
 * Returns an expression that is true when the page has applied a theme. The styles of most pages depend on the media
 * query alone. On the page of the API reference, a script also sets a class in a later frame.
 */
function hasTheme(theme: "dark" | "light"): string {
  const isDark = String(theme === "dark");
  return `matchMedia("(prefers-color-scheme: dark)").matches === ${isDark} &&
    (document.querySelector("#docs") === null || document.documentElement.classList.contains("dark-mode") === ${isDark})`;
}
