import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "ltx";
import { pino } from "pino";
import { Rooms } from "../../rooms/rooms";
import { invitedRooms } from "../../state/invited-rooms";
import { LastSeen } from "../../state/last-seen";

const log = pino({ level: "silent" });
let folder: string;
let close: (() => Promise<void>) | undefined;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "cb-rooms-"))));
afterEach(async () => {
  await close?.();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the rooms of a bridge with these entries in XMPP_ALLOW_INVITES. */
function setUp(...allowInvites: readonly string[]): Rooms {
  const lastSeen = new LastSeen(folder, log);
  const rooms = new Rooms({
    wanted: [],
    nick: "games",
    allowInvites,
    link: { send: async () => undefined, request: async (iq) => iq },
    log,
    lastSeen,
    invited: invitedRooms(folder, log),
    onLine: () => undefined,
  });
  close = async () => {
    rooms.close();
    await lastSeen.close();
  };
  return rooms;
}

/** Returns an invitation that a room passes on. The room names the inviter. */
const mediated = (room: string, by: string) =>
  parse(
    `<message from="${room}"><x xmlns="http://jabber.org/protocol/muc#user"><invite from="${by}"/></x></message>`,
  );
const direct = (room: string, by: string) =>
  parse(`<message from="${by}/phone"><x xmlns="jabber:x:conference" jid="${room}"/></message>`);

const [ANN, ROOM] = ["ann@chat.example", "quiz@rooms.chat.example"];
const TRAP = "trap@evil.example";

test.each([
  ["the account of a member on the server of the room", ANN, mediated(ROOM, `${ANN}/phone`), [ROOM]],
  ["the account of a member who invites directly", ANN, direct(TRAP, ANN), [TRAP]],
  ["the domain of the member", "chat.example", mediated(ROOM, ANN), [ROOM]],
  ["the room, which hides accounts", ROOM, mediated(ROOM, ROOM), [ROOM]],
  [
    "the domain of the room, regardless of the inviter that it names",
    "evil.example",
    mediated(TRAP, ANN),
    [TRAP],
  ],
  ["everybody", "*", mediated(TRAP, ANN), [TRAP]],
  [
    "an account, and a room of another domain names this account as the inviter",
    ANN,
    mediated(TRAP, ANN),
    [],
  ],
  [
    "a domain, and a room of another domain names an account of the listed domain as the inviter",
    "chat.example",
    mediated(TRAP, ANN),
    [],
  ],
  [
    "a domain, and the room's domain only ends with the same letters",
    "chat.example",
    mediated("a@evilchat.example", ANN),
    [],
  ],
  ["a domain, and the invitation names nobody", "chat.example", mediated(TRAP, ""), []],
])("if XMPP_ALLOW_INVITES lists %s, an invitation is accepted only if it can be trusted", (...row) => {
  const [, entry, invitation, joined] = row;
  const rooms = setUp(entry);
  expect(rooms.read(invitation)).toBe(true);
  expect(rooms.states.map(({ id }) => id)).toEqual(joined);
});

test.each(["no JSON", "{}", "null", '[{"jid":5}]'])(
  "a damaged list of invited rooms is ignored: %s",
  (text) => {
    const path = join(folder, "rooms.json");
    writeFileSync(path, text);
    expect(setUp("*").states).toEqual([]);
    expect(readFileSync(path, "utf8")).toBe(text);
  },
);
