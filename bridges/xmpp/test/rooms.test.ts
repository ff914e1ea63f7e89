import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { startConsumer, type Consumer } from "../../../test/harness/consumer";
import { create, dm, published, update, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import type { XmppMember } from "./harness/xmpp-member";
import { ROOMS, startProsody } from "./harness/xmpp-server";
import { openRoom, openStage, ROOM } from "./harness/xmpp-stage";

const QUIZ = `quiz@${ROOMS}`;
const MISSING = `missing@${ROOMS}`;
const LOCKED = `locked@${ROOMS}`;
const folder = testFolder();
const ca = createTestCa();
let stage: Awaited<ReturnType<typeof openStage>>;
let ann: XmppMember;
let bob: XmppMember;
let cid: XmppMember;
let eve: XmppMember;
let consumer: Consumer;

beforeAll(async () => {
  const server = await startProsody(folder, ca);
  [eve] = (await openRoom(server, ["eve"], LOCKED, { roomsecret: "sesame" })) as [XmppMember];
  stage = await openStage(server, folder, {
    XMPP_ROOMS: `${ROOM},${MISSING},${LOCKED} sesame`,
    XMPP_ALLOW_INVITES: "ann@localhost,rooms.localhost",
  });
  [ann, bob, cid] = stage.members;
  consumer = await startConsumer(stage.service.clients.games, { group: "xmpp-rooms" }).opened();
  consumer.ackAll();
});
afterAll(async () => {
  consumer.cancel();
  eve.leave();
  await stage.close();
  ca.close();
});

const text = (words: string) => ({ kind: MessageKind.TEXT, text: words });
const send = async (content: ContentInit) =>
  published((await publish(stage.service.clients, { workspaceId: stage.workspace.id, content }))[0]);
const health = async () =>
  (await stage.bridge.health()).body as { rooms: { id: string; problem?: string }[] };
const problemOf = async (room: string) => (await health()).rooms.find(({ id }) => id === room)?.problem;
/** Sends a request by which an owner or a moderator changes the rights of the bridge's nick or account. */
const change = (member: XmppMember, room: string, item: string, space = "admin") =>
  member.raw(
    `<iq type="set" id="c${Math.random()}" to="${room}"><query xmlns="http://jabber.org/protocol/muc#${space}">${item}</query></iq>`,
  );
const reported = async (words: string) => {
  const delivery = await until(`the game gets ${words}`, () =>
    consumer.seen.find((each) => each.text === words),
  );
  return delivery.received.event?.user;
};

test("a room that does not exist is not created, a room with a password is joined, and /health says why the bridge is not in a room", async () => {
  await until("both rooms are known", async () => (await problemOf(MISSING))?.includes("create it"));
  expect(await problemOf(MISSING)).toBe("the room does not exist: create it with your client");
  await until("the room is joined", async () => (await problemOf(LOCKED)) === undefined);
  await send(create(LOCKED, text("behind the password")));
  await eve.sees("behind the password", "groupchat");
});

test("a member who changes the nick keeps the id, and gets private messages under the new nick", async () => {
  bob.say("!play first");
  const before = await reported("first");
  expect(before?.id).toMatch(/^occupant:games@rooms\.localhost\/./);
  bob.raw(`<presence to="${ROOM}/Robert"/>`);
  bob.say("!play second");
  expect(await reported("second")).toMatchObject({ id: before?.id, name: "Robert" });
  await send(dm(before?.id ?? "", text("only for Bob")));
  expect(await bob.sees("only for Bob")).toMatchObject({ type: "chat", sender: ROOM, nick: "games" });
  expect(ann.messages.filter(({ body }) => body.includes("only for Bob"))).toEqual([]);
});

test("the bridge explains why private lines without a question, corrections and encrypted lines have no effect, and does not name other rooms", async () => {
  cid.whisper(`${ROOM}/games`, "!2");
  const hint = await cid.sees("No question is waiting");
  expect(hint).toMatchObject({
    type: "chat",
    nick: "games",
    body: "No question is waiting for an answer here. To play, type !play in games@rooms.localhost.",
  });
  ann.say("!play third");
  await reported("third");
  ann.raw(
    `<message type="groupchat" to="${ROOM}" id="c1"><body>!play corrected</body><replace xmlns="urn:xmpp:message-correct:0" id="x"/></message>`,
  );
  await ann.sees(
    "Only your first text counts, not the edit. To send something else, write a new message.",
    "chat",
  );
  eve.raw(
    `<message type="groupchat" to="${LOCKED}" id="e1"><body>secret</body><encryption xmlns="urn:xmpp:eme:0" namespace="omemo"/></message>`,
  );
  await eve.sees("turn off OMEMO", "chat");
  expect(consumer.seen.filter((each) => each.text === "corrected")).toEqual([]);
});

test("a member replies to a message, and the quoted lines are not part of the command", async () => {
  ann.raw(
    `<message type="groupchat" to="${ROOM}" id="r1"><body>&gt; a question\n!play quoted</body><reply xmlns="urn:xmpp:reply:0" id="x"/>` +
      `<fallback xmlns="urn:xmpp:fallback:0" for="urn:xmpp:reply:0"><body start="0" end="13"/></fallback></message>`,
  );
  expect(await reported("quoted")).toMatchObject({ name: "Ann" });
});

test("an update corrects the message, a question is a new message, and characters that XML forbids are removed", async () => {
  const { messageId: id } = await send(create(ROOM, text("the lobby\u0001")));
  const lobby = await ann.sees("the lobby");
  expect(lobby.body).toBe("the lobby");
  await send(update(ROOM, { id, ...text("the full lobby") }));
  expect(await ann.sees("the full lobby")).toMatchObject({ replaces: lobby.id });
  await send(update(ROOM, { id, kind: MessageKind.QUESTION, text: "the question" }));
  const question = await ann.sees("the question");
  expect(question.replaces).toBeNull();
  await send(update(ROOM, { id, kind: MessageKind.TIME_UP, text: "an answer" }));
  expect(await ann.sees("an answer")).toMatchObject({ replaces: question.id });
});

test("in a moderated room, the log, /health and a message to the member say that the bridge has no voice, and the bridge continues once it has voice", async () => {
  change(ann, ROOM, `<item nick="games" role="visitor"/>`);
  await stage.bridge.logs("the bridge has no voice in the room: a moderator must give it voice");
  expect(await problemOf(ROOM)).toContain('a moderator must give voice to "games"');
  bob.raw(
    `<message type="groupchat" to="${ROOM}" id="b1"><body>secret</body><encryption xmlns="urn:xmpp:eme:0" namespace="omemo"/></message>`,
  );
  await bob.sees("turn off OMEMO", "chat");
  bob.say("!play unheard");
  await bob.sees("The bridge cannot write in this room: a moderator must give it voice.", "chat");
  bob.say("!play status");
  await bob.sees("the bridge has no voice in the room", "chat");
  const { eventId } = await send(create(ROOM, text("never shown")));
  await until("the message is dropped", () => stage.bridge.output().includes(`${eventId} was dropped`));
  await send(create(LOCKED, text("another room")));
  await eve.sees("another room");
  change(ann, ROOM, `<item nick="games" role="participant"/>`);
  await stage.bridge.logs("the bridge may speak in the room again");
  await send(create(ROOM, text("with voice again")));
  await ann.sees("with voice again");
  expect(ann.messages.filter(({ body }) => body === "never shown")).toEqual([]);
  expect(consumer.seen.filter((each) => each.text === "unheard")).toEqual([]);
});

test("after a kick, the bridge rejoins a room of its settings, but not a room that it was invited to, even after a restart", async () => {
  change(ann, ROOM, `<item nick="games" role="none"/>`);
  await until("the bridge has left", () =>
    stage.bridge
      .logged("cannot join a room")
      .some(({ problem }) => problem === "the bridge was kicked from the room"),
  );
  await send(create(ROOM, text("after the kick")));
  await ann.sees("after the kick");

  await ann.join(QUIZ);
  await ann.configure({}, QUIZ);
  const invite = (member: XmppMember, room: string) =>
    member.raw(`<message to="games@localhost"><x xmlns="jabber:x:conference" jid="${room}"/></message>`);
  invite(eve, QUIZ);
  await stage.bridge.logs("ignored an invitation");
  expect(stage.bridge.logged("ignored an invitation")[0]).toMatchObject({
    room: QUIZ,
    by: "eve@localhost",
    problem: "XMPP_ALLOW_INVITES does not allow it: add eve@localhost or localhost or *",
  });
  ann.raw(
    `<message to="${QUIZ}"><x xmlns="http://jabber.org/protocol/muc#user"><invite to="games@localhost"/></x></message>`,
  );
  await until("the bridge is in the room", async () =>
    (await health()).rooms.some(({ id, problem }) => id === QUIZ && problem === undefined),
  );
  await stage.bridge.stop();
  await stage.startBridge();
  await until("the bridge is in the room again", async () =>
    (await health()).rooms.some(({ id, problem }) => id === QUIZ && problem === undefined),
  );
  await send(create(QUIZ, text("the second room")));
  await ann.sees("the second room");
  change(ann, QUIZ, `<item nick="games" role="none"/>`);
  await stage.bridge.logs("left a room to which the bridge was invited");
  await stage.bridge.stop();
  await stage.startBridge();
  expect((await health()).rooms.map(({ id }) => id)).toEqual([ROOM, MISSING, LOCKED]);
});

test("a banned bridge drops messages for the room, and reports the ban", async () => {
  change(eve, LOCKED, `<item affiliation="outcast" jid="games@localhost"/>`);
  await until("the ban is known", async () => (await problemOf(LOCKED))?.includes("banned"));
  const { eventId } = await send(create(LOCKED, text("banned text")));
  await until("the message is dropped", () => stage.bridge.output().includes(`${eventId} was dropped`));
  await send(create(ROOM, text("the other room")));
  await ann.sees("the other room");
  // Neither what members type nor a secret is in the log.
  for (const hidden of ["sesame", "banned text", "the lobby", stage.workspace.secret]) {
    expect(stage.bridge.output()).not.toContain(hidden);
  }
});

test("the bridge joins a room of its settings at once when a member invites the bridge", async () => {
  change(eve, LOCKED, `<item affiliation="none" jid="games@localhost"/>`);
  await eve.roundTrip();
  eve.raw(`<message to="games@localhost"><x xmlns="jabber:x:conference" jid="${LOCKED}"/></message>`);
  // Without an invitation, the bridge tries again once a minute.
  const isJoined = async () => (await problemOf(LOCKED)) === undefined;
  await until("the bridge is in the room", isJoined, 20_000);
});
