import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { create, dm, ephemeral, published, update, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";
import { joinIrc, type IrcMember } from "./harness/irc-member";
import { startNgircd } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();
let stage: Awaited<ReturnType<typeof openStage>>;
let ann: IrcMember;
/** A client that, like NickServ, is not in any channel of the bridge. */
let nickServ: IrcMember;

beforeAll(async () => {
  const server = await startNgircd(folder);
  stage = await openStage(server, folder, { IRC_BURST_LINES: "20" });
  [ann] = (await stage.join("Ann")) as [IrcMember];
  nickServ = await joinIrc(server, "NickServ", "#services");
});
afterAll(async () => {
  nickServ.leave();
  await stage.close();
});

const text = (words: string) => ({ kind: MessageKind.TEXT, text: words });
const send = async (content: ContentInit) =>
  published((await publish(stage.service.clients, { workspaceId: stage.workspace.id, content }))[0]);

/** Publishes events that must be dropped, and waits until the bridge has logged this. */
async function expectDropped(...contents: readonly ContentInit[]): Promise<void> {
  const events = await Promise.all(contents.map(send));
  await until("all events are dropped", () =>
    events.every(({ eventId }) => stage.bridge.output().includes(`${eventId} was dropped`)),
  );
  await Promise.all([nickServ.roundTrip(), ann.roundTrip()]);
  expect(nickServ.lines).toEqual([]);
  expect(ann.lines.filter(({ text: line }) => line.includes("SET PASSWORD"))).toEqual([]);
}

const COMMAND = text("SET PASSWORD owned");
const attacks = (): readonly ContentInit[] => [
  ...["NickServ", "nickserv", "Ann,NickServ", "#games,NickServ", "NickServ :SET PASSWORD owned"].map(
    (channel) => create(channel, COMMAND),
  ),
  ...["#games NickServ", ":NickServ", "@#games", "$irc.test", "NickServ@irc.test"].map((channel) =>
    create(channel, COMMAND),
  ),
  ...["nick:nickserv", "nick:ann,nickserv", "nick:nickserv x", "nick:#games", "nickserv"].map((user) =>
    dm(user, COMMAND),
  ),
  ephemeral("#games", "nick:nickserv", COMMAND),
];

test("a game cannot write to a nick, to services, to several targets, or to a member who was not reported", async () => {
  await expectDropped(...attacks(), dm("nick:ann", COMMAND));
  const { messageId: id } = await send(create("#games", text("a question")));
  await ann.sees("a question");
  await send(update("NickServ", { id, ...text("an answer") }));
  await ann.sees("an answer");
  expect(nickServ.lines).toEqual([]);
});

test("a reported member gets private messages, even after a restart of the bridge, and other members get none", async () => {
  ann.say("!play nonsense");
  expect(await ann.sees("Unknown command")).toMatchObject({ isNotice: true });
  await send(dm("nick:ann", text("a private question")));
  expect(await ann.sees("a private question")).toMatchObject({ target: "Ann" });
  await stage.bridge.stop("SIGKILL");
  await stage.startBridge();
  await send(dm("nick:ann", text("another private question")));
  expect(await ann.sees("another private question")).toMatchObject({ target: "Ann" });
  await expectDropped(...attacks());
});

test("a stranger who writes to the bridge does not become a member", async () => {
  nickServ.say("This nickname is registered.", "games");
  await nickServ.roundTrip();
  // The bridge has read the stranger's line before it reads this line.
  ann.say("!play nonsense");
  await ann.sees("Unknown command");
  await expectDropped(dm("nick:nickserv", COMMAND));
});
