import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DESKTOP, focusedWords, PHONE, testBrowser, untilCount, untilFocused } from "../harness/browser";
import { joinChat } from "../harness/chat-member";
import { joinChatPage, type ChatPlayer } from "../harness/chat-player";
import { create, published, update, type MessageInit } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const browser = testBrowser();
let demo: DemoChat;
beforeAll(async () => {
  demo = await startDemoChat({ QUESTION_SECONDS: "60", LOBBY_SECONDS: "600" });
  // Most of these tests use pushes, because a message can take two seconds to appear if the bridge polls.
  const setter = await joinChat(demo.url, "Setter");
  expect(await setter.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
  setter.leave();
});
afterAll(() => demo.close());

const join = (name: string, size = DESKTOP) => joinChatPage(browser, demo.url, name, size);

test("each tab is a separate member; a reload keeps the tab's member and posts", async () => {
  const dot = await join("Dot");
  await dot.type("**still** here");
  await dot.sees("here");
  await dot.page.reload();
  await dot.sees("here");
  await untilCount(dot.page.getByRole("log").locator("strong", { hasText: "still" }), 1);
  await untilCount(dot.page.getByRole("navigation").getByText("Dot"), 1);
  const other = await dot.context.newPage();
  await other.goto(demo.url);
  await other.getByLabel("Your name").waitFor();
  expect(dot.refusals).toEqual([]);
});

test("text typed while a message is being sent becomes the next message; text that could not be sent returns to the field", async () => {
  const { page, type, sees } = await join("Fay");
  const field = page.getByRole("textbox", { name: /^Message/ });
  const held: (() => void)[] = [];
  await page.route("**/api/say", async (route) => {
    await new Promise<void>((resolve) => held.push(resolve));
    const { text } = route.request().postDataJSON() as { text: string };
    if (text === "three") await route.fulfill({ status: 503, json: { message: "Not now." } });
    else await route.continue();
  });
  const release = async (): Promise<void> => {
    await until("a message is being sent", () => held.length > 0);
    held.shift()?.();
  };
  await type("one");
  await type("two");
  await field.fill("three");
  await release();
  await sees("one");
  await release();
  await sees("two");
  expect(await field.inputValue()).toBe("three");
  const said = await page.getByRole("log").getByRole("article").allInnerTexts();
  const placeOf = (word: string): number => said.findIndex((text) => text.includes(word));
  expect(placeOf("one")).toBeLessThan(placeOf("two"));
  await field.press("Enter");
  await field.fill("four");
  await release();
  await page.getByText("Not now.").waitFor();
  expect(await field.inputValue()).toBe("three\nfour");
});

/** Publishes a message, or an update if `message` has an id. Returns the id of the message. */
async function show(message: MessageInit): Promise<string> {
  const content = (message?.id === undefined ? create : update)("general", message);
  const [result] = await publish(demo.service.clients, { workspaceId: demo.workspace.id, content });
  return published(result).messageId ?? "";
}

test("on a laptop, the card of a question shows the member's points so far", async () => {
  const { page } = await join("Kim");
  const key = await page.evaluate<string>("sessionStorage.getItem('chat-key')");
  const kim = await joinChat(demo.url, "Kim", key);
  kim.leave();
  const board = [
    { user: "u-other", name: "Lee", points: 40 },
    { user: kim.me.id, name: "Kim", points: 12 },
  ];
  const data = { phase: "question", endsAt: new Date(Date.now() + 60_000).toISOString(), board };
  const id = await show({ kind: MessageKind.QUESTION, text: "And now?", data });
  const score = page.getByText("You have 12 points; the best player has 40.");
  await score.waitFor();
  await page.setViewportSize(PHONE);
  await score.waitFor({ state: "hidden" });
  await show({ id, kind: MessageKind.GAME_END, text: "The end of the points" });
});

test.each([
  ["a mouse or a finger", "click", "none"],
  ["the keyboard", "press", "solid"],
] as const)(
  "after a game that was played with %s, the focus moves to the final board",
  async (_how, way, outline) => {
    const { page } = await join("Lou");
    const buttons = [{ label: "Go", press: { $case: "action", value: "test:go" } as const }];
    const id = await show({ kind: MessageKind.GAME_START, text: `Play by ${way}`, rows: [{ buttons }] });
    const go = page.getByRole("region", { name: "Current game" }).getByRole("button", { name: "Go" });
    if (way === "click") await go.click();
    else await go.press("Enter");
    await show({ id, kind: MessageKind.GAME_END, text: `The board of ${way}` });
    const focused = "document.activeElement";
    await until("the board has the focus", () =>
      page.evaluate<boolean>(
        `${focused}.tagName === "ARTICLE" && ${focused}.innerText.includes("The board of")`,
      ),
    );
    expect(await page.evaluate(`getComputedStyle(${focused}).outlineStyle`)).toBe(outline);
  },
);

// contract: message-buttons, message-image
test("a message shows its image, a link button is a plain link to its URL, and text is never rendered as HTML", async () => {
  const { page, refusals } = await join("Eve");
  await show({
    kind: MessageKind.CARD,
    text: "A flag: <img src=x onerror=alert(1)> [no](javascript:alert(1))\nand **more**",
    image: `${demo.picturesUrl}/flag-1.png`,
    rows: [{ buttons: [{ label: "About it", press: { $case: "url", value: "https://flags.example/" } }] }],
  });
  const message = page.getByRole("article").filter({ hasText: "A flag:" });
  await message.waitFor();
  const isLoaded = "document.querySelector('article img')?.naturalWidth === 480";
  await until("the image is loaded", () => page.evaluate<boolean>(isLoaded));
  await untilCount(message.locator("img"), 1);
  expect(await message.innerText()).toContain("<img src=x onerror=alert(1)> [no](javascript:alert(1))");
  const link = message.getByRole("link", { name: /^About it/ });
  expect(await link.getAttribute("href")).toBe("https://flags.example/");
  expect(await link.getAttribute("rel")).toContain("noopener");
  await untilCount(message.getByRole("button"), 0);
  expect(refusals).toEqual([]);
});

test("screen readers are notified of each new phase of a live message", async () => {
  const { page, seesInGame } = await join("Gus");
  const status = page.getByRole("status");
  const id = await show({ kind: MessageKind.GAME_START, text: "Gus opens a game" });
  await seesInGame("Gus opens a game");
  await untilCount(status.filter({ hasText: "Gus" }), 0);
  await show({ id, kind: MessageKind.QUESTION, text: "Question 1 of 2" });
  await status.getByText("Question 1 of 2").waitFor();
  await show({ id, kind: MessageKind.TIME_UP, text: "The answer: **Oslo**" });
  await status.getByText("The answer: Oslo").waitFor();
  await seesInGame("Oslo");
  await show({ id, kind: MessageKind.GAME_END, text: "**Game stopped**" });
  await status.getByText("Game stopped").waitFor();
});

test("the keyboard reaches all controls, and the focus is always visible", async () => {
  const { page, game, seesInGame, type } = await join("Ada", PHONE);
  await page.getByRole("button", { name: "lounge" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "#lounge", level: 1 }).waitFor();
  const reached: string[] = [];
  while (reached.length < 12 && reached.at(-1) !== "Send") {
    await page.keyboard.press("Tab");
    reached.push(await focusedWords(page));
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
  }
  expect(reached).toEqual([
    "Games",
    expect.stringMatching(/^Bridge/),
    "Messages",
    "Start a game",
    "Suggest a topic",
    "Help",
    "Message #lounge",
    "Send",
  ]);

  // On a phone, the bridge's panel covers the chat. Opening the panel moves the focus to the panel, and closing the
  // panel moves the focus back to the button.
  await page.getByRole("button", { name: /^Bridge/ }).focus();
  await page.keyboard.press("Enter");
  await untilFocused(page, "The bridge");
  await page.keyboard.press("Escape");
  expect(await focusedWords(page)).toMatch(/^Bridge/);

  // When a pressed button disappears, the message that contained the button gets the focus.
  await page.getByRole("button", { name: "Start a game" }).click();
  await seesInGame("opens a game");
  await game.getByRole("button", { name: /^Start$/, disabled: false }).focus();
  await page.keyboard.press("Enter");
  await seesInGame("Question 1 of 2");
  expect(await page.evaluate("document.activeElement.closest('article') !== null")).toBe(true);
  await type("/play stop");
  await seesInGame("Game stopped");
});

test("the page that asks for a name is accessible", async () => {
  const { page } = await browser.visit(demo.url);
  await page.getByLabel("Your name").waitFor();
  await expectUsable(page, "joining");
});

/** Fails unless the page is accessible and fits the window, in both themes, for Ada on a desktop and Bob on a phone. */
async function expectUsableFor([ada, bob]: readonly [ChatPlayer, ChatPlayer], name: string): Promise<void> {
  await expectUsable(ada.page, name, [DESKTOP]);
  await expectUsable(bob.page, name, [PHONE]);
}

// contract: text-escaped, kit-dm, push-request
test("three players play a game while the bridge polls, while the network is cut, and while events are pushed; every stage is accessible", async () => {
  const [ada, bob, cyd] = await Promise.all([join("Ada"), join("Bob *the* builder", PHONE), join("Cyd")]);
  const all = [ada, bob, cyd] as const;
  const each = (does: (player: ChatPlayer) => Promise<void>) => Promise.all(all.map(does));
  const atDesktop = (text: string) =>
    Promise.all([ada, cyd].map(({ page }) => page.getByText(text).waitFor()));
  const pushes = ada.bridge.getByText("Push", { exact: true });

  await Promise.all([ada, cyd].map((player) => player.openBridge()));
  await ada.page.getByRole("radio", { name: /^Polling/ }).click();
  await atDesktop("Bridge: Polling");
  const pushesBefore = await pushes.count();
  await ada.page.getByRole("button", { name: "Start a game" }).click();
  await each((player) => player.seesInGame("opens a game"));
  const place = await ada.game.getAttribute("id");
  await Promise.all([bob, cyd].map((player) => player.press("Join")));
  await Promise.all([bob, cyd].map((player) => player.sees("You are in.")));
  await bob.seesInGame("Bob *the* builder");
  await ada.press(/^Start$/);
  await each((player) => player.seesInGame("Question 1 of 2"));
  await ada.page.getByRole("status").getByText("Question 1 of 2 · 60 seconds").waitFor();
  await ada.press(/^A · /);
  await ada.sees("Locked in");
  await untilCount(pushes, pushesBefore);
  await ada.page.getByRole("button", { name: "Cut the network" }).click();
  await atDesktop("Network cut");
  await bob.press(/^B · /);
  await bob.game.locator("[aria-busy=true]").waitFor();
  await cyd.page.getByRole("button", { name: "Repair" }).click();
  await expectUsableFor([ada, bob], "a question");
  const polls = ada.bridge.locator("summary").filter({ hasText: /\d events?/ });
  await polls.first().click();
  expect(await ada.bridge.getByLabel("Request").first().innerText()).toMatch(
    /^GET \/hooks\/[0-9a-f-]+\/events(\?after=\d+)?\nservice-signature: t=\d+,v1=[0-9a-f]{8}…/,
  );
  await ada.page.getByRole("radio", { name: /^Push/ }).click();
  await atDesktop("Bridge: Push");
  await bob.sees("Locked in");
  await cyd.press(/^A · /);

  await each((player) => player.seesInGame("Question 2 of 2"));
  await Promise.all([ada, bob].map(({ game }) => game.getByLabel("Your answer").waitFor()));
  await expectUsableFor([ada, bob], "a number");
  await cyd.type("700");
  await cyd.sees(/Locked in: 700/);
  await ada.answer("many");
  await ada.seesInGame("That is not a number");
  await ada.answer("1000");
  await ada.seesInGame(/Locked in: 1000/);
  await bob.answer("12");
  await bob.seesInGame(/You: 12/);
  await each((player) => player.seesInGame("Final board"));
  expect(await Promise.all(all.map(({ game }) => game.getAttribute("id")))).toEqual(Array(3).fill(place));

  const winner = await Promise.any(
    all.map(async (player) => {
      await player.page.getByRole("button", { name: /^Games 1 new/ }).waitFor();
      return player;
    }),
  );
  await winner.page.getByRole("button", { name: /^Games/ }).click();
  await winner.sees("Do you want a rematch?");
  await winner.page.getByRole("button", { name: "Not now" }).click();
  await winner.sees("Well played");
  await winner.page.getByRole("button", { name: "Not now" }).waitFor({ state: "detached" });
  await winner.page.getByRole("button", { name: "general" }).click();

  await ada.type("See [the rules](https://example.com/rules) and `this`:\n```\na = 1\n```\n> quoted");
  await ada.page.getByRole("button", { name: "Help" }).click();
  await each((player) => player.sees("Answer with a button"));
  await bob.openBridge();
  await bob.page.getByRole("button", { name: "Cut the network" }).click();
  for (const { page, bridge } of [ada, bob]) {
    await page.getByText("Nothing gets through.").first().waitFor();
    const push = bridge.getByRole("listitem").filter({ hasText: /^Push/ }).first();
    await push.locator("summary").click();
    expect(await push.getByLabel("Request").innerText()).toMatch(
      /^POST \/pushes\ncontent-type: application\/json\nservice-signature: t=\d+,v1=[0-9a-f]{8}…\nservice-event-id: evt_/,
    );
    expect(await push.getByLabel("Answer").innerText()).toContain("204");
  }
  await expectUsableFor([ada, bob], "the wire");
  await ada.page.getByRole("button", { name: "Repair" }).click();
  expect(all.flatMap(({ refusals }) => refusals)).toEqual([]);
});
