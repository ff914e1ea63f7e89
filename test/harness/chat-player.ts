import type { Locator, Page } from "playwright-core";
import type { TestBrowser, VisitOptions, Visitor } from "./browser";

/** Somebody who plays in the demo chat's page, in a tab of their own. */
export interface ChatPlayer {
  readonly name: string;
  readonly page: Page;
  /** The message of the game that is on, or was on last. */
  readonly game: Locator;
  /** Presses a button of the game's message. */
  press(label: string | RegExp): Promise<void>;
  /** Waits until these words stand in the game's message. */
  seesInGame(words: string | RegExp): Promise<void>;
  /** Waits until these words stand anywhere in the conversation. */
  sees(words: string | RegExp): Promise<void>;
  type(text: string): Promise<void>;
}

/** Players in tabs of one browser, side by side. */
export interface ChatTable {
  readonly visitor: Visitor;
  readonly players: readonly ChatPlayer[];
  /** What went wrong in any of the tabs. */
  readonly faults: readonly string[];
}

const PATIENCE_MS = 60_000;

export async function seatPlayers(
  browser: TestBrowser,
  url: string,
  names: readonly string[],
  options?: VisitOptions,
): Promise<ChatTable> {
  const visitor = await browser.visit(url, options);
  const faults: string[] = [];
  const players: ChatPlayer[] = [];
  for (const name of names) {
    const page = players.length === 0 ? visitor.page : await visitor.context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (said) => said.type() === "error" && faults.push(said.text()));
    await page.goto(url);
    await page.getByLabel("Your name").fill(name);
    await page.getByRole("button", { name: "Join the chat" }).click();
    await page.getByRole("heading", { name: "#general", level: 1 }).waitFor();
    players.push(playerIn(page, name));
  }
  return { visitor, players, faults };
}

function playerIn(page: Page, name: string): ChatPlayer {
  const log = page.getByRole("log");
  const game = log
    .locator("article")
    .filter({
      has: page.locator(
        ".kind-game_start, .kind-question, .kind-answer_update, .kind-time_up, .kind-game_end",
      ),
    })
    .last();
  return {
    name,
    page,
    game,
    press: (label) => game.getByRole("button", { name: label }).click(),
    seesInGame: (words) => game.getByText(words).first().waitFor(),
    sees: (words) => log.getByText(words).last().waitFor(),
    async type(text) {
      await page.getByRole("textbox").fill(text);
      await page.keyboard.press("Enter");
    },
  };
}

/**
 * A whole game of a choice and a number, its network cut in the middle: the first
 * player opens, starts and answers it, the second answers while nothing gets
 * through, the third once it does again.
 */
export async function playWholeGame([ada, bob, cyd]: readonly ChatPlayer[]): Promise<void> {
  if (ada === undefined || bob === undefined || cyd === undefined) throw new Error("three are to play");
  const all = [ada, bob, cyd];
  const each = (does: (player: ChatPlayer) => Promise<void>) => Promise.all(all.map(does));

  await ada.page.getByRole("button", { name: "Start a game" }).click();
  await each((player) => player.seesInGame("opens a game"));
  const place = await ada.game.getAttribute("id");
  for (const player of [bob, cyd]) {
    await player.press("Join");
    await player.sees("You are in.");
  }
  await ada.press(/^Start$/);
  await each((player) => player.seesInGame("Question 1 of 2"));
  await ada.press(/^A · /);
  await ada.sees("Locked in");

  await bob.page.getByRole("button", { name: "Cut the network" }).click();
  await each(({ page }) => page.getByText("Network cut").waitFor());
  await bob.press(/^B · /);
  await bob.game.locator("[aria-busy=true]").waitFor();
  await cyd.page.getByRole("button", { name: "Restore the network" }).click();
  await each(({ page }) => page.getByText("Network cut").waitFor({ state: "hidden" }));
  await bob.sees("Locked in");
  await cyd.press(/^A · /);
  await each((player) => player.seesInGame("The answer:"));

  await each((player) => player.seesInGame("Question 2 of 2"));
  await cyd.press("Answer");
  await cyd.type("700");
  await cyd.sees("Locked in");
  await ada.type("many");
  await ada.type("1000");
  await ada.sees(/Locked in: 1000/);
  await bob.type("12");
  await each((player) => player.seesInGame("Final board"));
  const places = await Promise.all(all.map(({ game }) => game.getAttribute("id")));
  if (places.some((at) => at !== place)) throw new Error("the game moved to another message");
}

/** Declines the rematch that the winner of a game is offered in a direct message. */
export async function declineRematch(players: readonly ChatPlayer[]): Promise<void> {
  const winner = await Promise.any(
    players.map(async (player) => {
      await player.page.getByRole("button", { name: /^Games 1 new/ }).waitFor();
      return player;
    }),
  );
  await winner.page.getByRole("button", { name: /^Games/ }).click();
  await winner.sees("Shall there be a rematch?");
  await winner.page.getByRole("button", { name: "Not now" }).click();
  await winner.sees("Well played");
  await winner.page.getByRole("button", { name: "Not now" }).waitFor({ state: "detached" });
  await winner.page.getByRole("button", { name: "general" }).click();
}
