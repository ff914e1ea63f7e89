import { findServer } from "../../connection/find-server";
import { bareJid, readJid } from "../../jid";
import { checkXmppSettings, XMPP_SETTINGS } from "../../settings";
import { readSettings, SettingsError } from "../../../../runtime/settings";

/** Reads a setting. Returns the value of the setting, or the error messages. */
function read(name: keyof typeof XMPP_SETTINGS, value: string): unknown {
  try {
    return readSettings({ [name]: value }, (settings) => ({
      value: XMPP_SETTINGS[name].read(settings, name),
    })).value;
  } catch (error) {
    return (error as SettingsError).message;
  }
}

test("rooms are read with their passwords", () => {
  expect(read("XMPP_ROOMS", "Games@Rooms.example, quiz@rooms.example a-password")).toEqual([
    { jid: "games@rooms.example", password: undefined },
    { jid: "quiz@rooms.example", password: "a-password" },
  ]);
});

test("the password of a room can contain spaces, and commas that are doubled", () => {
  const value = "quiz@rooms.example  open,, sesame  street ,games@rooms.example,";
  expect(read("XMPP_ROOMS", value)).toEqual([
    { jid: "quiz@rooms.example", password: "open, sesame  street" },
    { jid: "games@rooms.example", password: undefined },
  ]);
});

test("an error about an invalid room names only the room before it, because the invalid entry can be part of a password", () => {
  const fault = read("XMPP_ROOMS", "quiz@rooms.example open,sesame");
  expect(fault).toContain("the entry after quiz@rooms.example is not an address");
  expect(fault).not.toMatch(/open|sesame/);
});

test.each([
  ["XMPP_ROOMS", "rooms.test"],
  ["XMPP_ROOMS", "games@rooms.test/nick"],
  ["XMPP_ROOMS", "games@rooms.test,,two words"],
  ["XMPP_ROOMS", `${"g".repeat(120)}@rooms.example`],
  ["XMPP_JID", "chat.test"],
  ["XMPP_JID", "games@chat.test/phone"],
  ["XMPP_NICK", "n".repeat(61)],
  ["XMPP_TLS", "maybe"],
] as const)("an invalid value is rejected, and the error does not repeat the value: %s", (name, value) => {
  const fault = read(name, value);
  expect(fault).toContain(name);
  expect(fault).not.toContain(value);
});

test("a bridge without rooms is rejected unless the settings say who may invite the bridge", () => {
  const faults: string[] = [];
  const settings = { fault: (line: string) => void faults.push(line) };
  const values = { XMPP_ROOMS: [], XMPP_ALLOW_INVITES: [] } as never;
  checkXmppSettings(values, settings);
  expect(faults).toEqual([expect.stringContaining("XMPP_ROOMS is missing")]);
});

test("the parts of a JID are read, and a nick can contain any characters", () => {
  expect(readJid("quiz@rooms.example/Ann/a@b")).toEqual({
    local: "quiz",
    domain: "rooms.example",
    resource: "Ann/a@b",
  });
  expect(bareJid("Quiz@Rooms.example/Ann")).toBe("quiz@rooms.example");
});

const server = { host: "127.0.0.1", port: 5222 };
test.each([
  [
    { XMPP_SERVER: server, XMPP_TLS: "auto" },
    { ...server, encryption: "starttls" },
  ],
  [
    { XMPP_SERVER: { ...server, port: 5223 }, XMPP_TLS: "auto" },
    { ...server, port: 5223, encryption: "direct" },
  ],
  [
    { XMPP_SERVER: server, XMPP_TLS: "off" },
    { ...server, encryption: "off" },
  ],
  [
    { XMPP_SERVER: undefined, XMPP_TLS: "auto" },
    { host: "localhost", port: 5222, encryption: "starttls" },
  ],
  [
    { XMPP_SERVER: undefined, XMPP_TLS: "direct" },
    { host: "localhost", port: 5223, encryption: "direct" },
  ],
] as const)("the address of the server is found: %p", async (settings, expected) => {
  expect(await findServer("localhost", settings)).toEqual([expected]);
});
