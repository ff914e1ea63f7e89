import type { Locator, Page } from "playwright-core";
import { PHONE, type TestBrowser } from "./browser";
import { until } from "./wait";

/** Milliseconds between the two taps of a double tap. */
const DOUBLE_TAP_MS = 350;
/** Milliseconds of one animation frame. The page runs its effect hooks in the next frame. */
const FRAME_MS = 16;
const PHONE_OPTIONS = { viewport: PHONE, hasTouch: true, isMobile: true };

/**
 * Opens the chat on a phone whose clock is stopped: only `tapTwice` and `settle` advance the clock. The returned
 * functions never scroll.
 */
export async function openWithThumb(browser: TestBrowser, url: string) {
  const visitor = await browser.visit("about:blank", PHONE_OPTIONS);
  const { page, context } = visitor;
  await context.clock.install();
  await page.goto(url);
  await context.clock.pauseAt(Date.now() + 1_000);
  const { touchscreen } = page;

  /** Advances the page's clock by the time after which new buttons are enabled. */
  const settle = () => context.clock.runFor(600);

  /** Returns the middle of an element. Fails unless this point is in the window and not covered. */
  async function middleOf(target: Locator): Promise<Point> {
    await target.waitFor();
    const box = await until("the element has a place", async () => (await target.boundingBox()) ?? undefined);
    const point = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    const isOnTop = await isOnTopAt(target, [point]);
    expect({ target: await target.innerText(), isOnTop }).toMatchObject({ isOnTop: true });
    return point;
  }

  return {
    ...visitor,
    settle,
    tap: async (target: Locator): Promise<void> => {
      const { x, y } = await middleOf(target);
      await touchscreen.tap(x, y);
    },
    /** Taps twice at the same point, as soon as the element can be used. `effect` becomes visible after the first tap. */
    async tapTwice(target: Locator, effect: Locator): Promise<void> {
      await target.waitFor();
      await until("the element can be used", async () => {
        await context.clock.runFor(FRAME_MS);
        return target.isEnabled();
      });
      const { x, y } = await middleOf(target);
      await touchscreen.tap(x, y);
      await until("the first tap has had its effect", async () => {
        await context.clock.runFor(FRAME_MS);
        return effect.isVisible();
      });
      await context.clock.runFor(DOUBLE_TAP_MS);
      await touchscreen.tap(x, y);
    },
    /** Returns whether the whole element is in the window. */
    isInView: (target: Locator): Promise<boolean> => isInView(page, target),
  };
}

/** Returns whether the whole element is in the window, and no part of it is scrolled away. */
export async function isInView(page: Page, target: Locator): Promise<boolean> {
  const box = await target.boundingBox();
  const size = page.viewportSize();
  if (box === null || size === null || box.y < 0 || box.y + box.height > size.height) return false;
  const { x, y, width, height } = box;
  const ends = [y + 3, y + height - 3].map((at) => ({ x: x + width / 2, y: at }));
  return isOnTopAt(target, ends);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The parts of the DOM that `isOnTopAt` uses. */
interface PageNode {
  contains(other: unknown): boolean;
}
declare const document: { elementFromPoint(x: number, y: number): unknown };

/** Returns whether a tap would hit the element at each of these points. */
function isOnTopAt(target: Locator, points: readonly Point[]): Promise<boolean> {
  return target.evaluate(
    (element: PageNode, all) => all.every(({ x, y }) => element.contains(document.elementFromPoint(x, y))),
    points,
  );
}
