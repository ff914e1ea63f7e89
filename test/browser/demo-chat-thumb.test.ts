import { testBrowser } from "../harness/browser";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { openWithThumb } from "../harness/chat-thumb";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { until } from "../harness/wait";

const browser = testBrowser();
let demo: DemoChat;
let watcher: ChatMember;
beforeAll(async () => {
  demo = await startDemoChat({
    ROUNDS: "3",
    QUESTION_SECONDS: "60",
    LOBBY_SECONDS: "600",
    REVEAL_SECONDS: "2",
  });
  watcher = await joinChat(demo.url, "Watcher");
  expect(await watcher.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
});
afterAll(async () => {
  watcher.leave();
  await demo.close();
});

/** Returns all answers of a member that have been revealed so far, each in the form "question 1: option 2". */
function answersOf(name: string): readonly string[] {
  const found = watcher.versions.flatMap((post) => {
    if (post.by !== "service" || post.message.kind !== "time_up") return [];
    const { board, results, question } = post.message.data as {
      board: readonly { readonly user: string; readonly name: string }[];
      results: readonly { readonly user: string; readonly answer: number }[];
      question: number;
    };
    const id = board.find((each) => each.name === name)?.user;
    return results.flatMap(({ user, answer }) => (user === id ? [`question ${question}: ${answer}`] : []));
  });
  return [...new Set(found)];
}

// time: controlled
test.each([1, 2, 3])(
  "on a phone, a member who taps everything twice plays a first game without scrolling or hitting a wrong button (%i)",
  async (run) => {
    const name = `Thumb ${run}`;
    const { page, context, tap, tapTwice, isInView } = await openWithThumb(browser, demo.url);
    const game = page.getByRole("region", { name: "Current game" });
    const button = (label: string | RegExp) => game.getByRole("button", { name: label });
    const words = (text: string | RegExp) => game.getByText(text).first();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push(new URL(request.url()).pathname);
    });
    const opened: string[] = [];
    context.on("page", (other) => opened.push(other.url()));

    await tap(page.getByLabel("Your name"));
    await page.keyboard.type(name);
    const chat = page.getByRole("heading", { name: "#general", level: 1 });
    await tapTwice(page.getByRole("button", { name: "Join the chat" }), chat);
    await tapTwice(page.getByRole("button", { name: "Start a game" }), words(`${name} opens a game`));
    await tapTwice(button(/^Start$/), words("Question 1 of 3"));
    const options = [run % 4, (run + 1) % 4];
    for (const [i, option] of options.entries()) {
      await words(`Question ${i + 1} of 3`).waitFor();
      expect(answersOf(name)).toHaveLength(i);
      await tapTwice(button(new RegExp(`^${"ABCD"[option]} · `)), words("The answer:"));
      await words(/^You: /).waitFor();
    }
    await words("Question 3 of 3").waitFor();
    const field = game.getByLabel("Your answer");
    await tapTwice(field, game.locator("input:focus"));
    await page.keyboard.type(String(1000 + run));
    await tapTwice(button("Answer"), words("The answer:"));

    const board = page.getByRole("log").locator(".kind-game_end").last();
    await board.waitFor();
    await until("the whole final board is in view", () => isInView(board));
    const intended = [...options, 1000 + run].map((answer, i) => `question ${i + 1}: ${answer}`);
    await until("the watcher has seen every reveal", () => answersOf(name).length === intended.length);
    expect(answersOf(name)).toEqual(intended);
    const presses = ["/api/press", "/api/press", "/api/press"];
    expect(sent).toEqual(["/api/join", "/api/say", ...presses, "/api/answer"]);
    expect(opened).toEqual([]);
    expect(await page.evaluate("scrollY")).toBe(0);
  },
);
