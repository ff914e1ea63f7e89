import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";

/** The width and height of the picture, as the README's column shows it, in CSS pixels. */
const SIZE = { width: 880, height: 568 };
/** The sizes of the two windows, in CSS pixels, and their widths in the picture. */
export const PHONE = { width: 360, height: 560, shown: 304 };
export const DASHBOARD = { width: 600, height: 551, shown: 516 };

/** A frame of the picture. */
export interface Frame {
  readonly file: string;
  readonly ms: number;
}

type Place = "phone" | "dashboard";

const STAGE = `<!doctype html><html lang="en"><style>
* { box-sizing: border-box; margin: 0 }
body { width: ${SIZE.width}px; height: ${SIZE.height}px; padding: 14px 20px; background: #e9e4d8; color: #1d2530;
  font: 15px/1.35 system-ui, "DejaVu Sans", sans-serif }
#caption { height: 44px; font-size: 21px; font-weight: 650 }
#caption b { color: #0c5f63 }
#windows { display: flex; gap: 20px; align-items: flex-start }
figure { position: relative; border: 1px solid #b9b2a2; border-radius: 14px; overflow: hidden; background: #fff;
  box-shadow: 0 6px 18px rgb(0 0 0 / 14%) }
figcaption { padding: 3px 12px; background: #1d2530; color: #fff; font-size: 12px; font-weight: 600 }
img { display: block; width: 100% }
#phone { width: ${PHONE.shown}px } #dashboard { width: ${DASHBOARD.shown}px }
.tap { position: absolute; width: 34px; height: 34px; margin: -17px 0 0 -17px; border: 3px solid #fff; border-radius: 50%;
  background: rgb(214 72 38 / 70%); box-shadow: 0 0 0 3px rgb(214 72 38 / 60%) }
</style><p id="caption"></p><div id="windows">
<figure id="phone"><figcaption>A member's phone</figcaption><img alt=""></figure>
<figure id="dashboard"><figcaption>The dashboard</figcaption><img alt=""></figure></div></html>`;

/** Composes the frames of the picture: a caption, a phone and the dashboard. */
export async function createStage(browser: Browser, folder: string, windows: Readonly<Record<Place, Page>>) {
  mkdirSync(folder, { recursive: true });
  const page = await browser.newPage({ viewport: SIZE, deviceScaleFactor: 1.5 });
  await page.setContent(STAGE);
  const frames: Frame[] = [];

  async function place(name: Place): Promise<void> {
    const picture = (await windows[name].screenshot({ animations: "disabled" })).toString("base64");
    await page.evaluate(
      `(async () => { const img = document.querySelector("#${name} img"); img.src = "data:image/png;base64,${picture}"; await img.decode(); })()`,
    );
  }

  return {
    frames: frames as readonly Frame[],
    /** Shows the next caption; \`**\` surrounds bold words. */
    async say(caption: string): Promise<void> {
      const html = caption.replaceAll(/\*\*(.+?)\*\*/g, "<b>$1</b>");
      await page.evaluate(`document.querySelector("#caption").innerHTML = ${JSON.stringify(html)}`);
    },
    /** Adds a frame with the current state of both windows. */
    async frame(ms: number): Promise<void> {
      await place("phone");
      await place("dashboard");
      const file = join(folder, `${String(frames.length).padStart(3, "0")}.png`);
      await page.screenshot({ path: file });
      frames.push({ file, ms });
    },
    /** Adds a frame in which a finger touches an element, and clicks the element. */
    async tap(name: Place, target: Locator): Promise<void> {
      await target.scrollIntoViewIfNeeded();
      const box = await target.boundingBox();
      if (box === null) throw new Error("the tour cannot tap an element that is not shown");
      const window = name === "phone" ? PHONE : DASHBOARD;
      const at = (value: number) => `${(value * window.shown) / window.width}px`;
      const script = `{
        const figure = document.querySelector("#${name}");
        const tap = document.createElement("div");
        tap.className = "tap";
        tap.style.left = ${JSON.stringify(at(box.x + box.width / 2))};
        tap.style.top = \`calc(${at(box.y + box.height / 2)} + \${figure.querySelector("figcaption").offsetHeight}px)\`;
        figure.append(tap);
      }`;
      await page.evaluate(script);
      await this.frame(650);
      await page.evaluate(`document.querySelector(".tap").remove()`);
      await target.click();
    },
  };
}

export type Stage = Awaited<ReturnType<typeof createStage>>;
