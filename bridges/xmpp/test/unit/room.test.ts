import { CannotShow, RetryLater } from "chat-bridge-kit";
import { parse, type Element } from "ltx";
import { pino } from "pino";
import { Room } from "../../rooms/room";

const JID = "quiz@rooms.example";
const MUC = "http://jabber.org/protocol/muc#user";
const { signal } = new AbortController();

/** Returns a room, and functions with which a test plays the server. */
function setUp({ isConfigured = true } = {}) {
  const sent: Element[] = [];
  const events: string[] = [];
  let pingError: object | undefined;
  const room = new Room({
    jid: JID,
    password: undefined,
    nick: "games",
    isConfigured,
    link: {
      send: async (stanza) => void sent.push(stanza),
      request: async (iq) => (pingError === undefined ? iq : Promise.reject(pingError)),
    },
    log: pino({ level: "silent" }),
    historySeconds: () => 0,
    onLine: (_room, message, atMs) =>
      void events.push(`${atMs === undefined ? "live" : "old"} ${message.getChildText("body")}`),
    onJoined: () => void events.push("joined"),
    onForget: () => void events.push("forgotten"),
  });
  const presence = (type: string, inner: string, nick = "games") =>
    room.read(parse(`<presence from="${JID}/${nick}"${type}><x xmlns="${MUC}">${inner}</x></presence>`));
  const says = (nick: string, body: string, more = "", id = "1") =>
    room.read(
      parse(
        `<message type="groupchat" from="${JID}/${nick}" id="${id}"><body>${body}</body>${more}</message>`,
      ),
    );
  return {
    room,
    sent,
    events,
    says,
    presence,
    joins: () =>
      sent
        .filter(({ name, attrs }) => name === "presence" && attrs["type"] === undefined)
        .map(({ attrs }) => attrs["to"]),
    refusesJoin: (condition: string, type = "cancel") =>
      room.read(
        parse(
          `<presence type="error" from="${JID}/games"><error type="${type}"><${condition} xmlns="urn:ietf:params:xml:ns:xmpp-stanzas"/></error></presence>`,
        ),
      ),
    isIn(role = "participant") {
      presence("", `<item role="${role}"/><status code="110"/>`);
      room.read(parse(`<message type="groupchat" from="${JID}"><subject/></message>`));
    },
    forgetsBridge: () => (pingError = { condition: "not-acceptable" }),
  };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test("the history is read before the room counts as joined", () => {
  const { room, events, says, presence, isIn } = setUp();
  room.join();
  presence("", "<item role='participant'/>", "Ann");
  presence("", `<item role="participant"/><status code="110"/>`);
  says("Ann", "!1", '<delay xmlns="urn:xmpp:delay" stamp="2026-01-01T00:00:00Z"/>');
  expect(room.isJoined).toBe(false);
  isIn();
  says("Ann", "!2");
  expect(events).toEqual(["old !1", "joined", "live !2"]);
});

test("a post resolves when the room shows the message, and a message from an earlier run that is in the history is not sent again", async () => {
  const { room, sent, says, isIn } = setUp();
  room.join();
  says("games", "shown before", '<delay xmlns="urn:xmpp:delay" stamp="2026-01-01T00:00:00Z"/>', "evt_1");
  isIn();
  await room.post("evt_1", "shown before", signal);
  expect(sent.filter(({ name }) => name === "message")).toEqual([]);
  const posted = room.post("evt_2", "new", signal);
  await jest.advanceTimersByTimeAsync(0);
  says("games", "new", "", "evt_2");
  await expect(posted).resolves.toBeUndefined();
});

// time: controlled
test("if the nick is in use, the bridge tries other nicks, and then waits", async () => {
  const { room, joins, refusesJoin } = setUp();
  room.join();
  for (let i = 0; i < 5; i += 1) refusesJoin("conflict");
  expect(joins()).toEqual(
    ["games", "games_", "games__", "games___", "games____"].map((nick) => `${JID}/${nick}`),
  );
  expect(room.state.problem).toContain("set XMPP_NICK");
  await jest.advanceTimersByTimeAsync(60_000);
  expect(joins().at(-1)).toBe(`${JID}/games`);
});

// time: controlled
test.each([
  ["forbidden", "remove the ban", CannotShow],
  ["not-authorized", "password", CannotShow],
  ["registration-required", "members only", CannotShow],
  ["remote-server-not-found", "unreachable", RetryLater],
])(
  "a join that is refused with %s is explained in the room's state and retried",
  async (condition, words, kind) => {
    const { room, joins, refusesJoin } = setUp();
    room.join();
    refusesJoin(condition);
    expect(room.state.problem).toContain(words);
    await expect(room.post("evt_1", "hi", signal)).rejects.toThrow(kind);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(joins().length).toBeGreaterThan(1);
  },
);

// time: controlled
test("the bridge rejoins a room that has dropped the bridge without notice", async () => {
  const { room, joins, isIn, forgetsBridge } = setUp();
  room.join();
  isIn();
  forgetsBridge();
  const posted = room.post("evt_1", "never shown", signal);
  const refused = expect(posted).rejects.toThrow(RetryLater);
  await jest.advanceTimersByTimeAsync(10_000);
  await refused;
  expect(joins()).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(joins()).toHaveLength(2);
});

test.each([
  ["a kick", "<item/><status code='110'/><status code='307'/>", true],
  ["a ban", "<item/><status code='110'/><status code='301'/>", true],
  ["the end of the room", "<item/><destroy/><status code='110'/>", true],
  ["a restart of the server", "<item/><status code='110'/><status code='332'/>", false],
  ["a lost connection", "<item/><status code='110'/><status code='307'/><status code='333'/>", false],
])("after %s, an invited room is forgotten: %s %p", (_what, inner, isForgotten) => {
  const { room, events, presence, isIn } = setUp({ isConfigured: false });
  room.join();
  isIn();
  presence(' type="unavailable"', inner);
  expect(events.includes("forgotten")).toBe(isForgotten);
  if (!isForgotten) room.leave();
});

test("in a resumed session, the bridge is still in the room, and in a new session, it joins again", () => {
  const { room, joins, isIn } = setUp();
  room.join();
  isIn();
  room.disconnected();
  expect(room.state.problem).toBe("not connected");
  room.resumed();
  expect([room.isJoined, joins().length]).toEqual([true, 1]);
  room.disconnected();
  room.join();
  expect([room.isJoined, joins().length]).toEqual([false, 2]);
});

test("a first new message ends the history of a room without a subject, before the message is read", () => {
  const { room, events, says, presence } = setUp();
  room.join();
  presence("", `<item role="participant"/><status code="110"/>`);
  says("Ann", "!1");
  expect(events).toEqual(["joined", "live !1"]);
});

test("the bridge retries a refused join at once when it is invited to the room", () => {
  const { room, joins, isIn, refusesJoin } = setUp();
  room.join();
  refusesJoin("registration-required");
  room.invited();
  expect(joins()).toHaveLength(2);
  isIn();
  room.invited();
  expect([room.isJoined, joins().length]).toEqual([true, 2]);
});

// time: controlled
test("a message waits for a join that is in progress", async () => {
  const { room, says, isIn } = setUp();
  room.join();
  const posted = room.post("evt_1", "early", signal);
  await jest.advanceTimersByTimeAsync(1_000);
  isIn();
  await jest.advanceTimersByTimeAsync(0);
  says("games", "early", "", "evt_1");
  await expect(posted).resolves.toBeUndefined();
});
