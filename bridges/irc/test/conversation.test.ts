import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { startConsumer } from "../../../test/harness/consumer";
import { create, published, update, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";
import type { IrcMember } from "./harness/irc-member";
import { startNgircd } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();
let stage: Awaited<ReturnType<typeof openStage>>;
let ann: IrcMember;
let bob: IrcMember;

beforeAll(async () => {
  stage = await openStage(await startNgircd(folder), folder, {
    IRC_BURST_LINES: "10",
    IRC_UPDATE_SECONDS: "2",
  });
  [ann, bob] = (await stage.join("Ann", "Bob")) as [IrcMember, IrcMember];
});
afterAll(() => stage.close());

test("a game asks for a topic and gets the answer in private messages, and then posts the topic in the channel", async () => {
  ann.say("!play suggest");
  const prompt = await ann.sees("Which topic would you like?");
  expect(prompt).toMatchObject({ from: "games", target: "Ann", isNotice: false });
  ann.say("Wood & wire", "games");
  await ann.sees("This was posted in the channel:");
  await bob.sees("> Wood & wire");
});

test("a member who changes the nick keeps the id, and gets private messages under the new nick", async () => {
  bob.say("!play suggest");
  await bob.sees("Which topic");
  bob.client.raw("NICK Robert");
  bob.say("Rivers", "games");
  expect(await bob.sees("This was posted")).toMatchObject({ target: "Robert" });
  await ann.sees("Robert suggests a topic:");
});

test("only the member who types an unknown command or a wrong choice sees the reply", async () => {
  ann.say("!play nonsense");
  expect(await ann.sees("Unknown command")).toMatchObject({ isNotice: true, target: "Ann" });
  ann.say("!play help");
  await ann.sees("What is trivia?: https://");
  ann.say("!7");
  ann.say("!play nonsense");
  await ann.sees("Unknown command");
  expect(bob.lines.filter(({ text }) => text.includes("Unknown command"))).toEqual([]);
});

const send = async (content: ContentInit) =>
  published((await publish(stage.service.clients, { workspaceId: stage.workspace.id, content }))[0]);

test("a board that changes often is printed at intervals, and its last state is always printed", async () => {
  const board = (letters: number) => ({
    kind: MessageKind.HANGMAN_BOARD,
    text: `**Hangman**\n\nletters: ${letters}`,
  });
  const { messageId: id } = await send(create("#games", board(0)));
  await ann.sees("letters: 0");
  for (let letters = 1; letters <= 5; letters += 1) await send(update("#games", { ...board(letters), id }));
  await ann.sees("letters: 5");
  expect(ann.lines.filter(({ text }) => text.includes("Hangman"))).toHaveLength(1);
  expect(ann.lines.filter(({ text }) => text.includes("letters:")).length).toBeLessThan(5);
});

test("an event for a channel that the bridge has not joined is dropped, and the log gives the reason without the text", async () => {
  await send(create("#elsewhere", { kind: MessageKind.TEXT, text: "a very secret text" }));
  await send(create("#games", { kind: MessageKind.TEXT, text: "after the other" }));
  await ann.sees("after the other");
  const logged = (): string => JSON.stringify(stage.bridge.log);
  await until("the reason is logged", () =>
    logged().includes("the bridge is not configured to join the channel"),
  );
  const log = logged();
  for (const text of ["secret text", "Wood & wire", stage.workspace.secret]) expect(log).not.toContain(text);
});

test("text in a channel is not sent to the service while no game waits for text", async () => {
  const group = "irc-privacy";
  const consumer = await startConsumer(stage.service.clients.games, { group, consumer: "one" }).opened();
  ann.say("a private matter");
  ann.say("!play help");
  const [delivery] = await consumer.sees(1);
  expect(delivery?.text).toBe("help");
  consumer.cancel();
});
