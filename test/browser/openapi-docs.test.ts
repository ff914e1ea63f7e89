import { readFileSync } from "node:fs";
import { DESKTOP, PHONE, startBrowser, type TestBrowser } from "../harness/browser";
import { until } from "../harness/wait";
import { sharedService } from "../harness/shared-service";

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/** Set to look at the page: a picture of each is put there. */
const PICTURES = process.env["DOCS_PICTURES"];

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const service = sharedService();
let browser: TestBrowser;
beforeAll(async () => {
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
});

test.each([
  ["light", "a desktop", DESKTOP],
  ["dark", "a phone", PHONE],
] as const)(
  "everyone can read the reference in %s colours, and it fits %s",
  async (colours, name, size) => {
    const { page, faults, leave } = await browser.visit(`${service.dashboardUrl}/docs`, { colours, size });
    if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/${name}.png` });
    await page.evaluate(AXE);
    const violations = await page.evaluate<readonly Violation[]>(
      "axe.run().then(({ violations }) => violations)",
    );
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
    // Tables may be wider, and scroll on their own.
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(size.width);
    expect(faults).toEqual([]);
    await leave();
  },
  120_000,
);

test("the reference is reached by keyboard: the first stop skips to the content", async () => {
  const { page, leave } = await browser.visit(`${service.dashboardUrl}/docs`);
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  const isAtContent = "document.activeElement.id === 'content'";
  await until("the focus is on the content", () => page.evaluate<boolean>(isAtContent), 30_000);
  await leave();
}, 120_000);
