import type { Page } from "playwright-core";
import { untilStill } from "./browser";

/**
 * Returns the elements that a reader sees before an element that precedes them in the document. In a column, readers
 * see the upper element first; in a row, the left one.
 */
const OUT_OF_ORDER = `[...document.querySelectorAll("body *")].flatMap((parent) => {
  const children = [...parent.children].filter((child) => {
    const { position, float } = getComputedStyle(child);
    const { width, height } = child.getBoundingClientRect();
    return width > 1 && height > 1 && !["fixed", "absolute", "sticky"].includes(position) && float === "none";
  });
  if (!/flex|grid/.test(getComputedStyle(parent).display)) return [];
  return children.slice(1).flatMap((child, i) => {
    const [before, after] = [children[i].getBoundingClientRect(), child.getBoundingClientRect()];
    const isAbove = after.bottom <= before.top && after.left < before.right && before.left < after.right;
    const isLeft = after.right <= before.left && after.top < before.bottom && before.top < after.bottom;
    return isAbove || isLeft ? [child.outerHTML.slice(0, 120)] : [];
  });
})`;

/**
 * Numbers the elements that the keyboard should reach, moves the focus to the first of them, and returns their count.
 */
const NUMBER_STOPS = `(() => {
  for (const each of document.querySelectorAll("[data-stop]")) delete each.dataset.stop;
  const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']");
  const stops = [...all].filter((each) => !each.disabled && each.checkVisibility({ visibilityProperty: true }) && each.tabIndex >= 0);
  // The keyboard reaches only one radio button of a group.
  const own = stops.filter((each) => each.type !== "radio" || each.checked);
  own.forEach((each, i) => (each.dataset.stop = i));
  own[0].focus();
  return own.length;
})()`;
const FOCUSED = `(() => {
  const { activeElement: focused } = document;
  const isMarked = [undefined, "::after"].some((part) => getComputedStyle(focused, part).outlineStyle !== "none");
  return [focused.dataset.stop ?? focused.outerHTML.slice(0, 120), isMarked ? "" : "no visible focus"];
})()`;

/** Presses Tab until the keyboard has been at every element. Returns the stops, with their faults. */
async function tabThrough(page: Page): Promise<{ readonly stops: number; readonly visited: string[] }> {
  const stops = await page.evaluate<number>(NUMBER_STOPS);
  const visited: string[] = [];
  for (let i = 0; i < stops; i++) {
    visited.push((await page.evaluate<string[]>(FOCUSED)).join(" ").trim());
    await page.keyboard.press("Tab");
  }
  return { stops, visited };
}

type Size = Readonly<Record<"width" | "height", number>>;

/**
 * Fails if the page, in a window of any of these sizes, shows elements in an order that differs from the document's
 * order.
 */
export async function expectInOrder(page: Page, sizes: readonly Size[]): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    await untilStill(page);
    expect({ size, outOfOrder: await page.evaluate(OUT_OF_ORDER) }).toEqual({ size, outOfOrder: [] });
  }
}

/** Fails unless the Tab key reaches each control once, in the order of the document, and shows where the focus is. */
export async function expectTabOrder(page: Page, sizes: readonly Size[]): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    await untilStill(page);
    const { stops, visited } = await tabThrough(page);
    expect(stops).toBeGreaterThan(1);
    expect({ size, visited }).toEqual({ size, visited: visited.map((_, i) => String(i)) });
  }
}
