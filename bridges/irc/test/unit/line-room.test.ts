import { EventEmitter } from "node:events";
import type { Client } from "irc-framework";
import { LineRoom } from "../../connection/line-room";

function setUp() {
  const client = new EventEmitter();
  const room = new LineRoom();
  room.up({ client: client as unknown as Client, isOwn: (nick) => nick === "games" });
  /** Returns the number of bytes of a line that the server sends to the members, without the line break. */
  const bytesWith = (host: string, target: string): number => {
    const text = "x".repeat(room.bytesFor("PRIVMSG", target));
    return Buffer.byteLength(`:${"n".repeat(30)}!~games@${host} PRIVMSG ${target} :${text}`);
  };
  return { client, room, bytesWith };
}
const HOST = "h".repeat(63);

test("before the bridge knows its own address, a line with the longest usual names fits, and has room for about 400 bytes of text", () => {
  const { room, bytesWith } = setUp();
  expect(bytesWith(HOST, "#games")).toBeLessThanOrEqual(510);
  expect(room.bytesFor("PRIVMSG", "#games")).toBeGreaterThan(380);
  expect(bytesWith(HOST, `#${"c".repeat(63)}`)).toBeLessThanOrEqual(510);
});

test("the bridge learns its address from its own JOIN, and from a changed host name", () => {
  const { client, room, bytesWith } = setUp();
  client.emit("join", { nick: "ann", ident: "~ann", hostname: "x".repeat(200), channel: "#games" });
  const before = room.bytesFor("PRIVMSG", "#games");
  client.emit("join", { nick: "games", ident: "~games", hostname: "short.test", channel: "#games" });
  expect(before).toBeGreaterThan(380);
  expect(room.bytesFor("PRIVMSG", "#games")).toBe(400);
  const long = "l".repeat(150);
  client.emit("displayed host", { nick: "games", hostname: long });
  expect(bytesWith(long, "#games")).toBeLessThanOrEqual(510);
  expect(room.bytesFor("PRIVMSG", "#games")).toBeGreaterThan(250);
});

test("a line always has room for some text", () => {
  const { client, room } = setUp();
  client.emit("join", { nick: "games", ident: "~games", hostname: "x".repeat(500), channel: "#games" });
  expect(room.bytesFor("NOTICE", "ann")).toBe(64);
});
