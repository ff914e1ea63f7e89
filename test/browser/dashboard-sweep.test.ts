import type { Page } from "playwright-core";
import { DESKTOP, PHONE, testBrowser, untilStill, type Visitor } from "../harness/browser";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { expectUsable } from "../harness/usable";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

/** A window of 1,280 pixels at 400 percent, and at 200 percent. */
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

/**
 * Returns the elements that a reader sees before an element that precedes them in the document: below each other in one
 * column, or beside each other in one row.
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

/** Numbers the elements that the keyboard should reach, moves the focus to the first, and returns how many there are. */
const NUMBER_STOPS = `(() => {
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

test.each<[name: string, path: () => string, heading: string | RegExp]>([
  ["the list", () => "/", "Workspaces"],
  ["the page for connecting", () => "/connect", "Connect a workspace"],
  ["the page of a workspace", () => `/workspaces/${id}`, NAME],
  ["the settings of a workspace", () => `/workspaces/${id}/settings`, NAME],
  ["the page for an unknown workspace", () => `/workspaces/${id.replaceAll(/\d/g, "0")}`, /./],
  ["the page for an unknown address", () => "/nowhere", "Page not found"],
  ["the list of guides", () => "/guides", /./],
  ["a guide", () => "/guides/upgrade", /./],
])(
  "%s works at every size, in both themes, and with the keyboard alone in the order that one sees",
  async (name, path, heading) => {
    const { page } = visitor;
    await page.goto(`${dashboardUrl}${path()}`);
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    for (const size of SIZES) {
      await expectUsable(page, `sweep ${name}`, [size]);
      expect({ size, outOfOrder: await page.evaluate(OUT_OF_ORDER) }).toEqual({ size, outOfOrder: [] });
    }
    await untilStill(page);
    const { stops, visited } = await tabThrough(page);
    expect(stops).toBeGreaterThan(1);
    expect(visited).toEqual(visited.map((_, i) => String(i)));
  },
);
