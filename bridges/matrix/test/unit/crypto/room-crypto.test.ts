import { cpSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { testFolder } from "../../../../../test/harness/folder";
import type { SentEvent } from "../../../client/matrix-api";
import { openDatabase, rowsOf } from "../../../crypto/indexed-db";
import { loadCrypto } from "../../../crypto/load-library";
import { RoomCrypto } from "../../../crypto/room-crypto";
import { openDevice } from "../../../crypto/open-device";
import { readEvent } from "../../../inbound/read-event";
import { ROW_LIMITS } from "../../../crypto/row-limits";
import { createKeyServer } from "../../harness/key-server";

const ROOM = "!room:example.org";
const BOT = "@games:example.org";
const EVE = "@eve:example.org";
const folder = testFolder();
const log = pino({ level: "silent" });
const { signal } = new AbortController();

async function open(server: ReturnType<typeof createKeyServer>, userId: string, device: string, at: string) {
  const parts = { api: server.api(userId), userId, folder: join(folder, at), log, signal };
  const crypto = await RoomCrypto.open(device, parts);
  await crypto.publish(() => Promise.reject(new Error("the keys are lost")));
  return crypto;
}

const text = (body: string): SentEvent => ({ type: "m.room.message", content: { msgtype: "m.text", body } });
const received = (sender: string, { type, content }: SentEvent, id = "$1") => ({
  type,
  sender,
  event_id: id,
  origin_server_ts: Date.now(),
  content: content as Record<string, unknown>,
});
const bodyOf = ({ content }: { readonly content: Readonly<Record<string, unknown>> }) => content["body"];

/** Returns the index of the key that encrypted a message. Each message has the next index. */
function indexOf({ content }: SentEvent): number {
  const { ciphertext } = content as { ciphertext: string };
  const [version, tag, index] = Buffer.from(ciphertext, "base64");
  expect([version, tag]).toEqual([3, 8]);
  return index ?? -1;
}

test("an event whose key arrives later is read when the key arrives", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "late");
  const eve = await open(server, EVE, "EVE", "late");
  const sent = received(EVE, await eve.encrypt(ROOM, text("hello"), signal));
  expect(await bot.read(ROOM, [sent])).toEqual([]);
  const [late, ...more] = await bot.receive(server.sync(BOT, "BOT"), false);
  expect(late).toMatchObject({
    roomId: ROOM,
    event: { event_id: "$1", sender: EVE, type: "m.room.message" },
  });
  expect(late && bodyOf(late.event)).toBe("hello");
  expect(more).toEqual([]);
  const next = received(EVE, await eve.encrypt(ROOM, text("again"), signal), "$2");
  expect((await bot.read(ROOM, [next])).map(bodyOf)).toEqual(["again"]);
});

test("after a crash, no message key is used a second time, and received keys are still known", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "before");
  const eve = await open(server, EVE, "EVE", "eve");
  const question = await eve.encrypt(ROOM, text("hello"), signal);
  await bot.receive(server.sync(BOT, "BOT"), false);
  const before = [await bot.encrypt(ROOM, text("one"), signal), await bot.encrypt(ROOM, text("two"), signal)];
  expect(before.map(indexOf)).toEqual([0, 1]);
  // The files are in the state in which a process leaves them if it is killed while it sends the event.
  cpSync(join(folder, "before"), join(folder, "after"), { recursive: true });
  const restarted = await open(server, BOT, "BOT", "after");
  const after = await restarted.encrypt(ROOM, text("three"), signal);
  expect(indexOf(after)).toBe(2);
  expect((await restarted.read(ROOM, [received(EVE, question)])).map(bodyOf)).toEqual(["hello"]);
  await eve.receive(server.sync(EVE, "EVE"), false);
  const read = await eve.read(
    ROOM,
    [...before, after].map((sent, i) => received(BOT, sent, `$b${i}`)),
  );
  expect(read.map(bodyOf)).toEqual(["one", "two", "three"]);
});

test("an event that claims to be from another member is not read", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "forged");
  const eve = await open(server, EVE, "EVE", "forged");
  // The bridge reads the members' devices before it sends a message.
  await bot.encrypt(ROOM, text("Question"), signal);
  const sent = await eve.encrypt(ROOM, text("!2"), signal);
  await bot.receive(server.sync(BOT, "BOT"), false);
  expect(await bot.read(ROOM, [received("@ann:example.org", sent)])).toEqual([]);
  expect(await bot.read(ROOM, [received(EVE, sent)])).toHaveLength(1);
});

test("the bridge notifies a member whose client sends it no keys", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "withheld");
  const parts = { api: server.api(EVE), userId: EVE, folder: join(folder, "eve-withheld"), log };
  const { sdk, machine, requests } = await openDevice("EVE", parts);
  const settings = new sdk.EncryptionSettings();
  settings.sharingStrategy = sdk.CollectStrategy.onlyTrustedDevices();
  const users = () => [new sdk.UserId(BOT)];
  await machine.updateTrackedUsers(users());
  await requests.sendWaiting(signal);
  const claim = await machine.getMissingSessions(users());
  if (claim !== null) await requests.send(claim, signal);
  for (const share of await machine.shareRoomKey(new sdk.RoomId(ROOM), users(), settings)) {
    await requests.send(share, signal);
  }
  await bot.receive(server.sync(BOT, "BOT"), false);
  const sent = await machine.encryptRoomEvent(new sdk.RoomId(ROOM), "m.room.message", '{"body":"!2"}');
  const event = received(EVE, { type: "m.room.encrypted", content: JSON.parse(sent) as object });
  const [first] = await bot.read(ROOM, [event]);
  const room = {
    directMember: undefined,
    shown: () => undefined,
    newest: () => [],
    newestOf: () => undefined,
  };
  const typing = { COMMAND_PREFIX: "!", COMMAND_WORD: "play", nowMs: Date.now() };
  expect(first && readEvent(first, room, typing)).toEqual({
    type: "hint",
    topic: "keys",
    text: expect.stringContaining("Answer with a reaction"),
  });
});

test("an encrypted state event is not decrypted, because it would change the state of the room", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "odd");
  const eve = await open(server, EVE, "EVE", "eve-odd");
  const name = await eve.encrypt(ROOM, { type: "m.room.name", content: { name: "Forged" } }, signal);
  await bot.receive(server.sync(BOT, "BOT"), false);
  const state = { ...received(EVE, name), state_key: "" };
  expect(await bot.read(ROOM, [state])).toEqual([state]);
});

test("invalid keys and events from the homeserver are skipped", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "invalid");
  const keys = { oneTimeKeys: {}, unusedFallbackKeys: undefined };
  const toDevice = [
    {},
    { type: "m.room.encrypted", sender: "nobody", content: { algorithm: 3 } },
    { type: 4 },
  ];
  expect(await bot.receive({ ...keys, toDevice, changed: ["", "eve"], left: ["@"] }, true)).toEqual([]);
  const broken = received(EVE, { type: "m.room.encrypted", content: { algorithm: "m.megolm.v1.aes-sha2" } });
  expect(await bot.read(ROOM, [broken, { ...broken, origin_server_ts: -1 }])).toEqual([]);
  expect(await bot.isNoted(ROOM)).toBe(false);
  await bot.note(ROOM);
  expect(await bot.isNoted(ROOM)).toBe(true);
});

test("each limit names an object store of the library, and each key of a member is stored with its sender", async () => {
  const server = createKeyServer();
  const bot = await open(server, BOT, "BOT", "stores");
  const eve = await open(server, EVE, "EVE", "eve-stores");
  await eve.encrypt(ROOM, text("hello"), signal);
  await bot.receive(server.sync(BOT, "BOT"), false);
  const { db } = await loadCrypto();
  const opened = await openDatabase(db, `${join(folder, "stores", "keys-BOT.jsonl")}::matrix-sdk-crypto`);
  expect(Array.from(opened.objectStoreNames)).toEqual(expect.arrayContaining(Object.keys(ROW_LIMITS)));
  const keys = opened
    .transaction(["inbound_group_sessions3"], "readonly")
    .objectStore("inbound_group_sessions3");
  expect((await rowsOf(keys)).map(([, row]) => row)).toEqual([
    expect.objectContaining({ sender_key: expect.stringMatching(/^.{43}$/) }),
  ]);
  opened.close();
});
