import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { DESKTOP, PHONE, startBrowser, untilFocused, type TestBrowser } from "../harness/browser";
import { joinChat } from "../harness/chat-member";
import { seatPlayers } from "../harness/chat-player";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";

let demo: DemoChat;
let browser: TestBrowser;
beforeAll(async () => {
  demo = await startDemoChat({ QUESTION_SECONDS: "60", LOBBY_SECONDS: "600" });
  // Pushed to, so that less time is spent on waiting.
  const setter = await joinChat(demo.url, "Setter");
  expect(await setter.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
  setter.leave();
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
  await demo.close();
});
jest.setTimeout(180_000);

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/** Set to look at the pages: a picture of each is put there. */
const PICTURES = process.env["DEMO_PICTURES"];

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)");
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}

async function expectGood(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) {
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }
  expect(await violations(page)).toEqual([]);
  const fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
  expect(await page.evaluate(fits)).toBe(true);
}

test.each([
  ["light", "desktop", DESKTOP],
  ["dark", "desktop", DESKTOP],
  ["light", "phone", PHONE],
  ["dark", "phone", PHONE],
] as const)("in %s on a %s everything can be used by everyone, and fits", async (colours, device, size) => {
  const joining = await browser.visit(demo.url, { colours, size });
  await joining.page.getByLabel("Your name").waitFor();
  await expectGood(joining.page, `${colours}-${device}-join`);
  await joining.leave();

  const names = ["Ada", "Bob *the* builder"];
  const { visitor, players, faults } = await seatPlayers(browser, demo.url, names, { colours, size });
  const [ada, bob] = players;
  if (ada === undefined || bob === undefined) throw new Error("two are to be there");
  const { page } = ada;
  await ada.type(
    "Who plays? See [the rules](https://example.com/rules) and `this`:\n```\na = 1\n```\n> quoted",
  );
  await bob.type("Me.");
  await page.getByRole("button", { name: "Help" }).click();
  await ada.sees("you press a button");
  await page.getByRole("button", { name: "Settings" }).click();
  await ada.sees("Rounds:");
  await page.getByRole("button", { name: "Start a game" }).click();
  await bob.seesInGame("opens a game");
  await bob.press("Join");
  await bob.sees("You are in.");
  await ada.press(/^Start$/);
  await bob.press(/^C · /);
  await bob.sees("Locked in");
  await expectGood(bob.page, `${colours}-${device}-question`);
  await ada.press(/^A · /);
  await ada.seesInGame("Question 2 of 2");
  await ada.press("Answer");
  await page.getByText("Answering:").waitFor();
  await expectGood(page, `${colours}-${device}-number`);
  await ada.type("10");
  await bob.type("1000");
  await ada.seesInGame("Final board");

  const bridge = page.getByRole("button", { name: /^Bridge/ });
  if ((await bridge.getAttribute("aria-expanded")) === "false") await bridge.click();
  await page.getByRole("button", { name: "Cut the network" }).click();
  await page.getByText("Cut: nothing gets through").waitFor();
  await page.locator("summary").filter({ hasText: /^Push/ }).first().click();
  await page.getByLabel("Answer").waitFor();
  await expectGood(page, `${colours}-${device}-wire`);
  await page.getByRole("button", { name: "Restore the network" }).click();
  expect(faults).toEqual([]);
  await visitor.leave();
});

test("all of it is reached by the keyboard, and the focus is to be seen and is not lost", async () => {
  const { visitor, players } = await seatPlayers(browser, demo.url, ["Ada"], { size: PHONE });
  const [ada] = players;
  if (ada === undefined) throw new Error("somebody is to be there");
  const { page } = ada;
  const focused = () =>
    page.evaluate<string>("(document.activeElement?.ariaLabel || document.activeElement?.textContent) ?? ''");
  await page.getByRole("button", { name: "lounge" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "#lounge", level: 1 }).waitFor();
  const reached: string[] = [];
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press("Tab");
    reached.push(await focused());
    const outline = await page.evaluate<string>("getComputedStyle(document.activeElement).outlineStyle");
    expect(outline).toBe("solid");
    if (reached.at(-1) === "Send") break;
  }
  expect(reached).toEqual([
    "Games",
    expect.stringMatching(/^Theme/),
    expect.stringMatching(/^Bridge/),
    "Messages",
    "Start a game",
    "Leaderboard",
    "Settings",
    "Suggest a topic",
    "Help",
    "Message #lounge",
    "Send",
  ]);

  // On a phone the bridge's panel lies over the chat: it takes the focus, and gives it back.
  await page.getByRole("button", { name: /^Bridge/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "The bridge" }).waitFor();
  await untilFocused(page, "The bridge");
  await page.keyboard.press("Escape");
  expect(await focused()).toMatch(/^Bridge/);

  // A button that goes when it is pressed leaves the focus on its message.
  await page.getByRole("button", { name: "Start a game" }).click();
  await ada.seesInGame("opens a game");
  await ada.game.getByRole("button", { name: /^Start$/ }).focus();
  await page.keyboard.press("Enter");
  await ada.seesInGame("Question 1 of 2");
  expect(await page.evaluate("document.activeElement.closest('article') !== null")).toBe(true);
  await ada.type("/play stop");
  await ada.seesInGame("Game stopped");
  await visitor.leave();
});

test("what is added is in a log, and a new question of a message that was edited is read out", async () => {
  const { visitor, players } = await seatPlayers(browser, demo.url, ["Ada"]);
  const [ada] = players;
  if (ada === undefined) throw new Error("somebody is to be there");
  await ada.page.getByRole("button", { name: "Start a game" }).click();
  await ada.seesInGame("opens a game");
  const status = ada.page.getByRole("status");
  expect(await status.filter({ hasText: "Question" }).count()).toBe(0);
  await ada.press(/^Start$/);
  await status.getByText("Question 1 of 2 · 60 seconds").waitFor();
  await ada.type("/play stop");
  await status.getByText("Game stopped").waitFor();
  await visitor.leave();
});
