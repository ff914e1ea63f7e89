import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { startConsumer } from "../../../test/harness/consumer";
import { create, published, update, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { joinIrc, type IrcMember } from "./harness/irc-member";
import { startNgircd, type IrcServer } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();
let server: IrcServer;
let stage: Awaited<ReturnType<typeof openStage>>;

beforeAll(async () => {
  server = await startNgircd(folder);
  stage = await openStage(server, folder, {
    IRC_BURST_LINES: "1",
    IRC_LINE_MS: "1000",
    IRC_CHANNELS: "games,more",
  });
});
afterAll(() => stage.close());

const send = async (content: ContentInit) =>
  published((await publish(stage.service.clients, { workspaceId: stage.workspace.id, content }))[0]);

const answers = (...labels: readonly string[]) => [
  { buttons: labels.map((label) => ({ label, press: { $case: "action" as const, value: `do:${label}` } })) },
];

test("notices about a channel begin with the name of the channel", async () => {
  const [ann] = (await stage.join("Ann")) as [IrcMember];
  ann.say("!play nonsense");
  expect((await ann.sees("Unknown command")).text).toMatch(/^\[#games\] /);
  await send(create("#games", { kind: MessageKind.CARD, text: "a card", rows: answers("A", "B") }));
  await ann.sees("answer with !1 or !2");
  ann.say("!9");
  expect(await ann.sees("There is no choice 9")).toMatchObject({
    isNotice: true,
    text: "[#games] There is no choice 9: answer with !1 or !2.",
  });
});

test.each([
  ["2", "Numbers count in the channel of the question: type !2 in #games."],
  ["!2", "Numbers count in the channel of the question: type !2 in #games."],
  ["help", "No question is waiting for an answer here. To play, type !play in #games."],
  ["!help", "No question is waiting for an answer here. To play, type !play in #games."],
  ["hello", "No question is waiting for an answer here. To play, type !play in #games."],
  ["!play start", "Commands do not work here. To play, type !play in #games."],
])("a member who types %s several times in private gets one explanation", async (typed, answer) => {
  const nick = `M${Math.floor(Math.random() * 1e6)}`;
  const [member] = (await stage.join(nick)) as [IrcMember];
  for (let times = 0; times < 5; times++) member.say(typed, "games");
  expect(await member.sees(answer)).toMatchObject({ isNotice: true, text: answer });
  // The bridge answers this line after it has read the private lines.
  member.say("!play nonsense");
  await member.sees("Unknown command");
  expect(member.lines.filter(({ text }) => text === answer)).toHaveLength(1);
});

test("a number with the prefix does not answer a question without choices, and the member learns how to answer", async () => {
  const [ann] = (await stage.join("Gus")) as [IrcMember];
  const { messageId: id } = await send(
    create("#games", { kind: MessageKind.QUESTION, text: "Which?", rows: answers("A", "B") }),
  );
  await ann.sees("1 A");
  ann.say("2");
  expect((await ann.sees("To answer")).text).toBe("[#games] To answer, type !2.");
  const prompt = { id, kind: MessageKind.QUESTION, text: "How many?", awaitsReply: true };
  await send(update("#games", prompt));
  await ann.sees("How many?");
  const [bob, cid] = (await stage.join("Hal", "Ida")) as [IrcMember, IrcMember];
  bob.say("!41");
  expect((await bob.sees("no choices")).text).toBe(
    "[#games] This question has no choices: type 41 without !.",
  );
  cid.say("50", "games");
  await cid.sees("Numbers count in the channel of the question: type 50 in #games.");
  await send(update("#games", { id, kind: MessageKind.TIME_UP, text: "The answer: 42" }));
  await ann.sees("The answer: 42");
});

// time: ordering
test("a number that is typed before the choices are printed, or after they are replaced, is not counted, and the member learns why", async () => {
  const [bob, cid, dan] = (await stage.join("Bob", "Cid", "Dan")) as [IrcMember, IrcMember, IrcMember];
  const consumer = await startConsumer(stage.service.clients.games, { group: "irc-hints" }).opened();
  consumer.ackAll();
  try {
    await send(
      create("#games", { kind: MessageKind.CARD, text: "an older card", rows: answers("old", "older") }),
    );
    await bob.sees("1 old");
    // Each paragraph is so long that it needs its own line.
    const paragraphs = (word: string) =>
      [1, 2, 3, 4].map((number) => `${word} ${number} `.repeat(25)).join("\n\n");
    const kind = MessageKind.QUESTION;
    const { messageId: id } = await send(
      create("#games", { kind, text: paragraphs("asked"), rows: answers("A", "B") }),
    );
    await bob.sees("1 A");
    bob.say("!1");

    await send(update("#games", { id, kind, text: paragraphs("changed"), rows: answers("C", "D") }));
    await cid.sees("changed 1");
    cid.say("!2");
    expect((await cid.sees("not printed yet")).text).toBe(
      "[#games] The choices are not printed yet: type !2 when you see them.",
    );
    await cid.sees("1 C");
    cid.say("!2");

    await send(update("#games", { id, kind: MessageKind.TIME_UP, text: "The answer: D" }));
    await dan.sees("The answer: D");
    dan.say("!1");
    expect((await dan.sees("Too late")).text).toBe(
      "[#games] Too late: these choices are closed. Wait for the next ones.",
    );
    dan.say("!play nonsense");
    await dan.sees("Unknown command");
    const actions = consumer.seen.flatMap(({ received: { event } }) =>
      event?.kind?.$case === "action" ? [event.kind.value.action] : [],
    );
    expect(actions).toEqual(["do:A", "do:D"]);
  } finally {
    consumer.cancel();
  }
});

test("a member who returns with the same nick after a netsplit is the same player, even after a change of the nick", async () => {
  const consumer = await startConsumer(stage.service.clients.games, { group: "irc-split" }).opened();
  consumer.ackAll();
  try {
    const eve = await joinIrc(server, "Eve", "#games");
    eve.say("!play nonsense");
    await eve.sees("Unknown command");
    eve.leave();
    const again = await joinIrc(server, "Eve", "#games");
    again.say("!play nonsense");
    await again.sees("Unknown command");
    again.client.raw("NICK Eva");
    again.say("!play more nonsense");
    await again.sees("Unknown command");
    again.leave();
    const renamed = await joinIrc(server, "Eva", "#games");
    renamed.say("!play nonsense");
    await renamed.sees("Unknown command");
    renamed.leave();
    const users = consumer.seen.map(({ received: { event } }) => event?.user);
    expect(users.map((user) => user?.id)).toEqual(["nick:eve", "nick:eve", "nick:eve", "nick:eve"]);
    expect(users.map((user) => user?.name)).toEqual(["Eve", "Eve", "Eva", "Eva"]);
  } finally {
    consumer.cancel();
  }
});
