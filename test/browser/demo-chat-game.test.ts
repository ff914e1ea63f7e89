import type { Page } from "playwright-core";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DESKTOP, PHONE, testBrowser, untilCount } from "../harness/browser";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { joinChatPage } from "../harness/chat-player";
import { isInView, openWithThumb } from "../harness/chat-thumb";
import { create, ephemeral, published, update, type MessageInit } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

/** These tests publish their messages directly, in the same form as the trivia game. */
const browser = testBrowser();
const TOUCH = { hasTouch: true, isMobile: true };
const OPTIONS = ["Estonia", "Finland", "Botswana"];
let demo: DemoChat;
let writer: ChatMember;
beforeAll(async () => {
  demo = await startDemoChat();
  writer = await joinChat(demo.url, "Writer");
  expect(await writer.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
});
afterAll(async () => {
  writer.leave();
  await demo.close();
});

const { GAME_START, QUESTION, ANSWER_UPDATE, TIME_UP, GAME_END } = MessageKind;
const send = async (content: ReturnType<typeof create>): Promise<string> => {
  const [result] = await publish(demo.service.clients, { workspaceId: demo.workspace.id, content });
  return published(result).messageId ?? "";
};
/** Publishes a message in #general, or an update if `message` has an id. Returns the id of the message. */
const show = (message: MessageInit): Promise<string> =>
  send((message?.id === undefined ? create : update)("general", message));

const endsAt = () => new Date(Date.now() + 60_000).toISOString();
const rowOf = (labels: readonly string[], question: number) => ({
  buttons: labels.map((label) => ({
    label,
    press: { $case: "action", value: `test:${question}:${label}` } as const,
  })),
});
const choice = (question: number, more: MessageInit = {}): MessageInit => ({
  kind: QUESTION,
  text: `Question ${question}: which country?`,
  rows: [rowOf(OPTIONS, question)],
  data: { phase: "question", question, questions: 2, options: OPTIONS, seconds: 60, endsAt: endsAt() },
  ...more,
});
const reveal = (data: object): MessageInit => ({
  kind: TIME_UP,
  text: "The answer:",
  data: { phase: "reveal", question: 1, questions: 2, endsAt: endsAt(), ...data },
});

/** Ends the game of a test, so that the next test begins without a running game. */
const end = (id: string) => show({ id, kind: GAME_END, text: "**Final board**" });

/** Returns the id of the member who uses a page. */
async function idOf(page: Page): Promise<string> {
  const key = await page.evaluate<string>("sessionStorage.getItem('chat-key')");
  const again = await joinChat(demo.url, "", key);
  again.leave();
  return again.me.id;
}

test("a pressed button is marked before the chat answers, and ignores a second press; after a failed request, it can be pressed again", async () => {
  const { page, game } = await joinChatPage(browser, demo.url, "Ada", PHONE, TOUCH);
  const requests: string[] = [];
  const held: (() => void)[] = [];
  await page.route("**/api/press", async (route) => {
    requests.push((route.request().postDataJSON() as { action: string }).action);
    await new Promise<void>((resolve) => held.push(resolve));
    if (requests.length === 1)
      await route.fulfill({ status: 502, json: { message: "Your press was not sent: no." } });
    else await route.continue();
  });
  const id = await show(choice(1));
  const button = (name: string, state = {}) => game.getByRole("button", { name, ...state });
  await button("Finland").tap();
  await game.locator("[aria-busy=true]").getByText("Finland").waitFor();
  await game.getByRole("status").getByText("Sending: Finland").waitFor({ state: "attached" });
  for (const name of OPTIONS) await button(name, { disabled: true }).waitFor();
  await button("Estonia").tap({ force: true });
  await until("the request is held", () => held.length === 1);
  held[0]?.();
  await game.getByRole("alert").getByText("Your press was not sent: no.").waitFor();
  await button("Finland", { disabled: false }).tap();
  await until("the second request is held", () => held.length === 2);
  held[1]?.();
  // A touch screen has no hover, so no button looks selected after it was pressed.
  await show({ ...choice(1), id, kind: ANSWER_UPDATE, text: "1 of 2 have answered" });
  await button("Finland", { disabled: false }).waitFor();
  await untilCount(game.locator("[aria-busy=true]"), 0);
  const colour = (i: number) =>
    page.evaluate(`getComputedStyle(document.querySelectorAll(".stage .button")[${i}]).borderColor`);
  expect(await colour(1)).toEqual(await colour(0));
  expect(requests).toEqual(["test:1:Finland", "test:1:Finland"]);
  await end(id);
});

// time: controlled
test("new buttons and links ignore clicks and key presses for half a second", async () => {
  const { page, context, tap, settle } = await openWithThumb(browser, demo.url);
  await tap(page.getByLabel("Your name"));
  await page.keyboard.type("Bob");
  await page.keyboard.press("Enter");
  const presses: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/api/press")) presses.push(request.postData() ?? "");
  });
  await until("the chat is open", async () => {
    await context.clock.runFor(16);
    return page.getByRole("log").isVisible();
  });
  const more = { label: "Read more", press: { $case: "url", value: "https://flags.example/" } } as const;
  const id = await show({ ...choice(1), rows: [rowOf(OPTIONS, 1), { buttons: [more] }] });
  const game = page.getByRole("region", { name: "Current game" });
  await game.getByRole("button", { name: "Estonia" }).focus();
  await page.keyboard.press("Enter");
  await context.clock.runFor(450);
  await page.keyboard.press("Enter");
  await game.getByRole("link", { name: /^Read more/ }).click({ force: true });
  expect([presses, context.pages().length]).toEqual([[], 1]);
  await settle();
  await game.getByRole("button", { name: "Estonia", disabled: false }).press("Enter");
  await until("the press is reported", () => presses.length === 1);
  // The card moves to the timeline when the game ends, and keeps the focus.
  await end(id);
  await page.getByRole("log").locator("article:focus .kind-game_end").waitFor();
});

test("a private message about the game becomes a line of the game's card, and marks the member's answer; other private messages are posts", async () => {
  const { page, game, log, seesInGame, sees } = await joinChatPage(browser, demo.url, "Cyd");
  const id = await show(choice(1));
  await seesInGame("Question 1");
  const before = await log.getByRole("article").count();
  const user = await idOf(page);
  const data = { about: id, phase: "question", question: 1, answer: 1 };
  await send(ephemeral("general", user, { kind: MessageKind.CARD, text: "Locked in: **Finland**", data }));
  await seesInGame("Locked in: Finland");
  await game.getByRole("button", { name: "Finland (your answer)" }).waitFor();
  await untilCount(log.getByRole("article"), before);
  await send(ephemeral("general", user, { kind: MessageKind.CARD, text: "A private word" }));
  await sees("A private word");
  await untilCount(log.getByText("only you see this"), 1);
  await show({ ...choice(2), id });
  await seesInGame("Question 2");
  await untilCount(page.getByText("Locked in"), 0);
  await end(id);
});

test("posts by others never move the running game's buttons; when the game ends, its board is in view", async () => {
  const players = await Promise.all([
    joinChatPage(browser, demo.url, "Dan", PHONE, TOUCH),
    joinChatPage(browser, demo.url, "Eve", { width: 1280, height: 800 }, { colorScheme: "dark" }),
  ]);
  const id = await show(choice(1));
  await Promise.all(players.map(({ seesInGame }) => seesInGame("Question 1")));
  const places = () =>
    Promise.all(players.map(({ game }) => game.getByRole("button", { name: "Estonia" }).boundingBox()));
  const before = await places();
  for (let i = 1; i <= 25; i++) expect(await writer.say(`word ${i}`)).toBe(204);
  await Promise.all(players.map(({ sees }) => sees("word 25")));
  expect(await places()).toEqual(before);
  for (const { page, game } of players) expect(await isInView(page, game)).toBe(true);
  await end(id);
  for (const { page, log } of players) {
    const board = log.locator(".kind-game_end").last();
    await board.waitFor();
    await until("the board is in view", () => isInView(page, board));
    await untilCount(page.getByText(/changed above|edited/), 0);
  }
});

test("a reveal shows the member's answer, the right answer and the points, not only by colour; the page is accessible", async () => {
  const { page, game, seesInGame } = await joinChatPage(browser, demo.url, "Fay");
  const user = await idOf(page);
  const id = await show(reveal({ options: OPTIONS, right: 0, results: [{ user, answer: 1, points: 0 }] }));
  await seesInGame("You: B · Finland · wrong, no points");
  const options = game.getByRole("list", { name: "Options" }).getByRole("listitem");
  expect(await options.allInnerTexts()).toEqual([
    expect.stringMatching(/A · Estonia\s+\(right answer\)/),
    expect.stringMatching(/B · Finland\s+you/),
    expect.stringMatching(/^C · Botswana$/),
  ]);
  await expectUsable(page, "a reveal");
  await show({
    ...reveal({ options: OPTIONS, right: 0, results: [{ user, answer: 0, points: 138 }] }),
    id,
  });
  await seesInGame("You: A · Estonia · right, +138 points");
  await show({
    ...reveal({ unit: "metres", right: 12_345, results: [{ user, answer: 1900, points: 150 }] }),
    id,
  });
  await seesInGame("You: 1900 metres · right: 12,345, +150 points");
  await show({ ...reveal({ options: OPTIONS, right: 2, results: [] }), id });
  await seesInGame("You did not answer.");
  await end(id);
});

test("the countdown says what comes next; the lobby and a reveal show no countdown bar", async () => {
  const { game, seesInGame } = await joinChatPage(browser, demo.url, "Gus", DESKTOP);
  const lobby = { phase: "lobby", endsAt: endsAt() };
  const id = await show({ kind: GAME_START, text: "Gus opens a game", data: lobby });
  await seesInGame(/^Starts in \d+ s$/);
  await untilCount(game.locator("progress"), 0);
  await show({ ...choice(1), id });
  await seesInGame(/^Time left \d+ s$/);
  await untilCount(game.locator("progress"), 1);
  await show({ ...reveal({ right: 0 }), id });
  await seesInGame(/^Next question in \d+ s$/);
  await show({ ...reveal({ right: 0, question: 2 }), id });
  await seesInGame(/^Final board in \d+ s$/);
  await end(id);
});

test("on a phone, an empty channel says next to its buttons what to do; all buttons are large and fully visible", async () => {
  const { page } = await joinChatPage(browser, demo.url, "Hal", PHONE, TOUCH);
  await page.getByRole("button", { name: "lounge" }).tap();
  const hint = page.getByText("Press “Start a game” below to play");
  await hint.waitFor();
  const commands = page.getByRole("group", { name: "Commands" });
  const [above, below] = [await hint.boundingBox(), await commands.boundingBox()];
  expect((below?.y ?? 0) - ((above?.y ?? 0) + (above?.height ?? 0))).toBeLessThan(40);
  for (const button of await page.getByRole("button").all()) {
    const { height = 0, x = -1, width = 0 } = (await button.boundingBox()) ?? {};
    const isWhole = height >= 44 && x >= 0 && x + width <= PHONE.width;
    expect({ button: await button.innerText(), isWhole }).toMatchObject({ isWhole: true });
  }
});
