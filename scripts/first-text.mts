// Reports how long each page of a dashboard takes to show text on a slow phone. The simulated phone has a processor
// that is four times slower, 1.6 Mbit/s, and 300 ms for each round trip. Nothing checks these times.
//
//   CHROMIUM=/usr/bin/chromium npx tsx scripts/first-text.mts http://127.0.0.1:8082 <operator's token> [runs]
import { chromium, type Page } from "playwright-core";

const [base = "", token = "", runs = "3"] = process.argv.slice(2);
const SLOW = { latency: 300, throughput: (1.6 * 1024 * 1024) / 8 };
const CPU_RATE = 4;
const WITHIN_MS = 120_000;

const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${base}/api${path}`, { ...init, headers: { "x-dashboard": "1", ...init.headers } });

async function signIn(): Promise<string> {
  const headers = { "content-type": "application/json" };
  const answer = await ask("/session", { method: "POST", headers, body: JSON.stringify({ token }) });
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  if (!cookie.includes("=")) throw new Error(`cannot sign in: status ${answer.status}`);
  return cookie;
}

/**
 * Returns the milliseconds until the page paints its first text, and until it shows an element that matches `selector`.
 */
async function measure(page: Page, path: string, selector: string): Promise<readonly [number, number]> {
  const began = performance.now();
  await page.goto(`${base}${path}`, { waitUntil: "commit", timeout: WITHIN_MS });
  await page.locator(selector).first().waitFor({ timeout: WITHIN_MS });
  const shown = performance.now() - began;
  const first = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0",
  );
  return [first, shown];
}

const cookie = await signIn();
const { workspaces } = (await (await ask("/workspaces", { headers: { cookie } })).json()) as {
  workspaces: readonly { id: string }[];
};
const id = workspaces[0]?.id ?? "";
const [name = "", value = ""] = cookie.split("=");
const pages: readonly (readonly [path: string, selector: string])[] = [
  ["/", "table a"],
  ["/connect", "form"],
  [`/workspaces/${id}`, "h2"],
  ["/guides", "main li a"],
  ["/guides/bridge-guide", "main h2"],
  ["/docs", ".calls a, .opblock"],
];
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const seconds = (ms: number): string => (ms / 1_000).toFixed(1).padStart(6);
console.log("first text and content in seconds: median (lowest to highest)");
for (const [path, selector] of pages) {
  const firsts: number[] = [];
  const shown: number[] = [];
  for (let run = 0; run < Number(runs); run++) {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    await context.addCookies([{ name, value, url: base }]);
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: SLOW.latency,
      downloadThroughput: SLOW.throughput,
      uploadThroughput: SLOW.throughput,
    });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: CPU_RATE });
    const [first, content] = await measure(page, path, selector);
    firsts.push(first);
    shown.push(content);
    await context.close();
  }
  const range = (values: readonly number[]): string =>
    `${seconds(median(values))} (${seconds(Math.min(...values)).trim()} to ${seconds(Math.max(...values)).trim()})`;
  console.log(`${path.replace(id, "<id>").padEnd(24)} ${range(firsts)}  ${range(shown)}`);
}
await browser.close();
