// Records the animated picture of the README: a member plays on a phone, the bridge breaks, the dashboard says why, and
// the bridge recovers. Needs `npm run build`, Chromium, img2webp and a font with emoji (Debian: apt-get install webp
// fonts-noto-color-emoji).
//
//     node --import tsx scripts/record-tour.ts [file]
//
// Starts a separate service in a temporary folder, and stops it at the end. The picture shows no token and no secret.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import { LISTENERS, type ListenAddresses } from "../deploy/local/start-settings";
import { findChromium } from "../test/programs/apt";
import { createStage, DASHBOARD, PHONE, type Stage } from "./tour-stage";

const PICTURE = "docs/pictures/tour.webp";
const BYTES_MAX = 3 * 1024 * 1024;
const MS_MAX = 30_000;
const READY_WITHIN_MS = 90_000;
const PACE = { QUESTION_SECONDS: "60", ROUNDS: "2", REVEAL_SECONDS: "4", LOBBY_SECONDS: "60" };

interface Kept {
  readonly running?: { readonly pid: number; readonly listen: ListenAddresses };
}

/** Starts the service in a folder. Resolves when it is ready. */
async function startService(folder: string) {
  const ports = Object.fromEntries(Object.keys(LISTENERS).map((name) => [name, "127.0.0.1:0"]));
  const env = { ...process.env, ...PACE, ...ports, DATA_DIR: folder, LANG: "en" };
  const child = spawn(process.execPath, ["dist/deploy/local/main.js"], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const file = join(folder, "settings.json");
  const end = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const kept = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Kept) : {};
    if (kept.running?.pid === child.pid && kept.running !== undefined) {
      const { CHAT_LISTEN: chat } = kept.running.listen;
      const stop = async () => {
        child.kill("SIGTERM");
        await once(child, "exit");
      };
      return { chatUrl: `http://127.0.0.1:${chat.port}`, stop };
    }
    if (child.exitCode !== null || performance.now() > end) throw new Error("the service did not start");
    await sleep(100);
  }
}

/** Opens the chat on a phone, joins it, and switches the bridge to pushes. */
async function openPhone(browser: Browser, chatUrl: string): Promise<Page> {
  const context = await browser.newContext({
    viewport: PHONE,
    deviceScaleFactor: 2,
    hasTouch: true,
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.goto(chatUrl);
  await page.getByLabel("Your name").fill("Ada");
  await page.getByRole("button", { name: "Join the chat" }).click();
  await page.getByRole("button", { name: /^Bridge/ }).click();
  await page.getByRole("radio", { name: /^Push/ }).click();
  await page.getByRole("radio", { name: /^Push/, checked: true, disabled: false }).waitFor();
  return page;
}

/** Opens the dashboard from the chat, in the size that the picture shows. */
async function openDashboard(phone: Page): Promise<Page> {
  const link = phone.getByRole("link", { name: "Open the dashboard" });
  const [page] = await Promise.all([phone.context().waitForEvent("page"), link.click()]);
  await page.setViewportSize(DASHBOARD);
  // The first frame shows a bridge that works.
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByText("Healthy", { exact: true }).first().waitFor();
  await page.reload();
  await page.getByText("Healthy", { exact: true }).first().waitFor();
  await phone.getByRole("button", { name: "Close" }).click();
  return page;
}

/** The checkbox that selects all failed events. */
function chooseAll(dashboard: Page): Locator {
  return dashboard.getByRole("checkbox", { name: /Select all/ });
}

/** Waits until the current game's message contains the words. */
function shown(phone: Page, words: string): Promise<void> {
  return phone.getByRole("main").getByRole("article").getByText(words).last().waitFor();
}

async function play(stage: Stage, phone: Page, dashboard: Page): Promise<void> {
  const answered = phone.locator(".own-lines").getByText("You:");
  await stage.say("**A member plays.** The game reaches the chat through its bridge.");
  await stage.frame(1_300);
  await stage.tap("phone", phone.getByRole("button", { name: "Start a game" }));
  await shown(phone, "opens a game");
  await stage.frame(1_000);
  await stage.tap("phone", phone.getByRole("button", { name: /^Start$/ }));
  await shown(phone, "Question 1 of 2");
  await dashboard.getByText("Healthy", { exact: true }).first().waitFor();
  await stage.frame(1_500);
  await stage.tap("phone", phone.getByRole("button", { name: /^A · / }));
  await answered.waitFor();
  await stage.frame(1_500);
  await phone.getByLabel("Your answer").fill("1000");
  await phone.getByRole("button", { name: "Answer" }).click();
  await phone.locator(".kind-game_end").waitFor();
  // The winner gets a direct message. It must arrive before the bridge breaks, so that it is not among the failed
  // events.
  await phone.getByRole("button", { name: /^Games 1 new/ }).waitFor();
  await stage.frame(1_500);
}

async function breakIt(stage: Stage, phone: Page, dashboard: Page): Promise<void> {
  await stage.say("**The bridge breaks:** somebody gave it a wrong secret.");
  await phone.getByRole("button", { name: /^Bridge/ }).click();
  await stage.frame(900);
  await stage.tap("phone", phone.getByRole("button", { name: "Wrong secret" }));
  await dashboard.getByText("Failing", { exact: true }).first().waitFor();
  await phone.getByRole("button", { name: "Close" }).click();
  await phone.getByText("Ada broke the bridge.").waitFor();
  await stage.frame(1_800);
  await stage.say("**The dashboard says why,** and what to do.");
  // The checkbox appears when the last attempt has failed and the event can be sent again.
  await chooseAll(dashboard).waitFor();
  await stage.frame(2_600);
  await stage.say("**The dashboard says why,** and which message is lost.");
  await dashboard.evaluate("document.querySelector('.send-again').scrollIntoView()");
  await stage.frame(2_400);
}

async function repair(stage: Stage, phone: Page, dashboard: Page): Promise<void> {
  await stage.say("**Repair the bridge,** and send the lost message again.");
  await stage.tap("phone", phone.getByRole("button", { name: "Repair" }));
  await phone.getByText("Ada broke the bridge.").waitFor({ state: "detached" });
  await chooseAll(dashboard).check();
  await stage.tap("dashboard", dashboard.getByRole("button", { name: "Send again" }).first());
  await shown(phone, "opens a game");
  await stage.frame(1_600);
  await stage.say("**It recovers.** The message arrives, and the game goes on.");
  await dashboard.evaluate("scrollTo(0, 0)");
  await dashboard.getByText("Recovered", { exact: true }).first().waitFor();
  await stage.frame(2_000);
  await stage.tap("phone", phone.getByRole("button", { name: /^Start$/ }));
  await shown(phone, "Question 1 of 2");
  await stage.frame(3_000);
}

function write(stage: Stage, file: string): void {
  const frames = stage.frames.flatMap((frame) => ["-d", String(frame.ms), frame.file]);
  execFileSync("img2webp", ["-loop", "0", "-lossy", "-q", "78", "-m", "6", ...frames, "-o", file], {
    stdio: "ignore",
  });
  const ms = stage.frames.reduce((sum, frame) => sum + frame.ms, 0);
  const bytes = statSync(file).size;
  console.log(`${file}: ${stage.frames.length} frames, ${ms / 1000} s, ${Math.round(bytes / 1024)} KB`);
  if (bytes > BYTES_MAX || ms > MS_MAX) throw new Error("the picture is too large or too long");
}

async function main(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cb-tour-"));
  const service = await startService(join(folder, "data"));
  const browser = await chromium.launch({
    executablePath: await findChromium(),
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const phone = await openPhone(browser, service.chatUrl);
    const dashboard = await openDashboard(phone);
    const stage = await createStage(browser, join(folder, "frames"), { phone, dashboard });
    await play(stage, phone, dashboard);
    await breakIt(stage, phone, dashboard);
    await repair(stage, phone, dashboard);
    write(stage, file);
  } finally {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

void main(process.argv[2] ?? PICTURE);
