import { DESKTOP, type TestBrowser } from "./browser";

export type ChatPlayer = Awaited<ReturnType<typeof joinChatPage>>;

/**
 * Joins the demo chat in a separate browser context. In a shared context, each click would wait: a browser
 * draws background tabs only once a second.
 */
export async function joinChatPage(browser: TestBrowser, url: string, name: string, viewport = DESKTOP) {
  const visitor = await browser.visit(url, { viewport });
  const { page } = visitor;
  await page.getByLabel("Your name").fill(name);
  await page.getByRole("button", { name: "Join the chat" }).click();
  await page.getByRole("heading", { name: "#general", level: 1 }).waitFor();
  const log = page.getByRole("log");
  const live = ".kind-game_start, .kind-question, .kind-answer_update, .kind-time_up, .kind-game_end";
  const game = log.locator("article", { has: page.locator(live) }).last();
  return {
    ...visitor,
    /** The message of the newest game. */
    game,
    bridge: page.getByRole("complementary", { name: "The bridge" }),
    press: (label: string | RegExp) => game.getByRole("button", { name: label }).click(),
    seesInGame: (words: string | RegExp) => game.getByText(words).first().waitFor(),
    sees: (words: string | RegExp) => log.getByText(words).last().waitFor(),
    async type(text: string) {
      await page.getByRole("textbox").fill(text);
      await page.keyboard.press("Enter");
    },
  };
}
