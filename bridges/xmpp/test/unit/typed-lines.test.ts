import { setImmediate } from "node:timers/promises";
import { parse } from "ltx";
import { pino } from "pino";
import { TypedLines } from "../../chat/typed-lines";
import { Occupants } from "../../rooms/occupants";
import type { Room } from "../../rooms/room";

const JID = "quiz@rooms.example";

/** Returns a `TypedLines` whose service never answers, and the lists that the tests check. */
function setUp({ hasVoice = true } = {}) {
  const reported: { user: { id: string }; text: string; id?: string }[] = [];
  const logged: unknown[] = [];
  const whispered: string[] = [];
  const occupants = new Occupants(JID);
  const whisper = async (_id: string, _nick: string, text: string) => void whispered.push(text);
  const room = { jid: JID, name: "quiz", occupants, hasVoice, isJoined: true, whisper } as unknown as Room;
  for (const nick of ["Ann", "Bob"]) occupants.put({ nick, occupantId: nick, jid: undefined });
  const lines = new TypedLines({
    settings: { COMMAND_PREFIX: "!", COMMAND_WORD: "play", STATUS_COMMAND: "status" },
    bridge: {
      command: (report: never) => {
        reported.push(report);
        return new Promise(() => undefined);
      },
      shownIn: () => [],
    } as never,
    rooms: { get: () => room, find: () => undefined, joined: [room] },
    accounts: { send: async () => undefined },
    lastSeen: { note: () => undefined, isMissed: () => true } as never,
    log: pino({ level: "warn" }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  });
  let ids = 0;
  const line = (nick: string, text: string, id = `m${++ids}`, more = "") =>
    parse(
      `<message type="groupchat" from="${JID}/${nick}" id="${id}"><body>${text}</body><occupant-id xmlns="urn:xmpp:occupant-id:0" id="${nick}"/>${more}</message>`,
    );
  return { lines, room, line, reported, logged, whispered };
}

/** Resolves when the bridge has begun to report the lines that it has read. */
const soon = async (): Promise<void> => {
  for (let turns = 0; turns < 5; turns += 1) await setImmediate();
};

test("a member who floods a room does not keep the lines of other members from the service", async () => {
  const { lines, room, line, reported, logged } = setUp();
  for (let i = 0; i < 100; i += 1) lines.onRoomLine(room, line("Ann", `!play ${i}`), undefined);
  lines.onRoomLine(room, line("Bob", "!play start"), undefined);
  await soon();
  const by = (nick: string) =>
    reported.filter(({ user }) => user.id.endsWith(`/${nick}`)).map(({ text }) => text);
  expect([by("Ann").length, by("Bob")]).toEqual([20, ["start"]]);
  expect(JSON.stringify(logged)).toContain("too many lines");
});

test("a line that the room repeats has the same request id, and lines of other members have other ids", async () => {
  const { lines, room, line, reported } = setUp();
  lines.onRoomLine(room, line("Ann", "!play", "m1"), undefined);
  lines.onRoomLine(room, line("Ann", "!play", "m1"), Date.now());
  lines.onRoomLine(room, line("Bob", "!play", "m1"), undefined);
  await soon();
  const [live, repeated, other] = reported.map(({ id }) => id);
  expect(live).toMatch(/^xmpp-/);
  expect(repeated).toBe(live);
  expect(other).not.toBe(live);
});

test("in a room in which the bridge has no voice, a member is notified of this even just after another hint, and the status command is reported", async () => {
  const { lines, room, line, reported, whispered } = setUp({ hasVoice: false });
  const encrypted = line("Ann", "secret", "m0", '<encryption xmlns="urn:xmpp:eme:0"/>');
  lines.onRoomLine(room, encrypted, undefined);
  await soon();
  for (const text of ["!play start", "!2", "!play Status"])
    lines.onRoomLine(room, line("Ann", text), undefined);
  await soon();
  expect(whispered).toEqual([
    "The games cannot read encrypted lines: turn off OMEMO here.",
    "The bridge cannot write in this room: a moderator must give it voice.",
  ]);
  expect(reported.map(({ text }) => text)).toEqual(["Status"]);
});
