import type { Locator } from "playwright-core";
import { DESKTOP, type TestBrowser, type Visitor } from "./browser";

/** A player on the demo chat's page. */
export interface ChatPlayer extends Visitor {
  /** The message of the newest game. */
  readonly game: Locator;
  /** The panel of the bridge. */
  readonly bridge: Locator;
  /** Presses a button of the game's message. */
  press(label: string | RegExp): Promise<void>;
  /** Waits until these words stand in the game's message. */
  seesInGame(words: string | RegExp): Promise<void>;
  /** Waits until these words stand anywhere in the conversation. */
  sees(words: string | RegExp): Promise<void>;
  type(text: string): Promise<void>;
}

/**
 * Joins the demo chat, in a browser of the player's own: tabs behind others are drawn once a second only, which every
 * click would wait for.
 */
export async function joinChatPage(
  browser: TestBrowser,
  url: string,
  name: string,
  size = DESKTOP,
): Promise<ChatPlayer> {
  const visitor = await browser.visit(url, { size });
  const { page } = visitor;
  await page.getByLabel("Your name").fill(name);
  await page.getByRole("button", { name: "Join the chat" }).click();
  await page.getByRole("heading", { name: "#general", level: 1 }).waitFor();
  const log = page.getByRole("log");
  const live = ".kind-game_start, .kind-question, .kind-answer_update, .kind-time_up, .kind-game_end";
  const game = log
    .locator("article")
    .filter({ has: page.locator(live) })
    .last();
  return {
    ...visitor,
    game,
    bridge: page.getByRole("complementary", { name: "The bridge" }),
    press: (label) => game.getByRole("button", { name: label }).click(),
    seesInGame: (words) => game.getByText(words).first().waitFor(),
    sees: (words) => log.getByText(words).last().waitFor(),
    async type(text) {
      await page.getByRole("textbox").fill(text);
      await page.keyboard.press("Enter");
    },
  };
}
