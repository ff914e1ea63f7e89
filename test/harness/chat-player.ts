import type { BrowserContextOptions } from "playwright-core";
import { DESKTOP, type TestBrowser } from "./browser";

export type ChatPlayer = Awaited<ReturnType<typeof joinChatPage>>;

/**
 * Joins the demo chat in a separate browser context. In a shared context, each click would take up to a second, because
 * a browser draws background tabs only once a second.
 */
export async function joinChatPage(
  browser: TestBrowser,
  url: string,
  name: string,
  viewport = DESKTOP,
  options: BrowserContextOptions = {},
) {
  const visitor = await browser.visit(url, { viewport, ...options });
  const { page } = visitor;
  await page.getByLabel("Your name").fill(name);
  await page.getByRole("button", { name: "Join the chat" }).click();
  await page.getByRole("heading", { name: "#general", level: 1 }).waitFor();
  const main = page.getByRole("main");
  const log = main.getByRole("log");
  const live = ".kind-game_start, .kind-question, .kind-answer_update, .kind-time_up, .kind-game_end";
  const game = main.locator("article", { has: page.locator(live) }).last();
  return {
    ...visitor,
    /** The message of the newest game. */
    game,
    /** The posts in the timeline, without the message of a running game. */
    log,
    bridge: page.getByRole("complementary", { name: "The bridge" }),
    openBridge: () => page.getByRole("button", { name: /^Bridge/ }).click(),
    /** Presses a button of the game as soon as the button is enabled. */
    press: (label: string | RegExp) => game.getByRole("button", { name: label }).click(),
    seesInGame: (words: string | RegExp) => game.getByText(words).first().waitFor(),
    sees: (words: string | RegExp) => main.getByText(words).last().waitFor(),
    async type(text: string) {
      await page.getByRole("textbox", { name: /^Message/ }).fill(text);
      await page.keyboard.press("Enter");
    },
    /** Types an answer into the field of the game's message. */
    async answer(text: string) {
      await game.getByLabel("Your answer").fill(text);
      await game.getByRole("button", { name: "Answer" }).click();
    },
  };
}
