import * as fc from "fast-check";
import { sign } from "../../kit/signature";
import { createObservation } from "../../demo/chat/link/observation";
import { applyEvent, unreadIn } from "../../demo/chat/page/chat-state";
import { gist } from "../../demo/chat/page/gist";
import { isSeenBy, Room } from "../../demo/chat/room/room";
import type { Exchange, ServicePost, StreamEvent } from "../../demo/chat/shapes";
import { createWireLog, wireSide } from "../../demo/chat/wire/wire-log";
import { forAll, forMany } from "../harness/for-all";
import { message } from "../harness/sample-events";

const ME = { id: "u-me", name: "Me" };
const MESSAGE = message();
const LINK = { mode: "poll", broken: null, isSwitching: false, whyFixed: null, problem: null } as const;
const ignore = () => undefined;
const GENERAL = { id: "general", name: "general" };

function postOf(id: number, edits: number, conversation = "general"): ServicePost {
  const at = "2026-01-01T00:00:00Z";
  const head = { id, place: id, at, conversation, onlyFor: null };
  return { by: "service", ...head, message: MESSAGE, edits, changedAt: at };
}

const NOBODY = { channels: [], posts: [], notes: [], dashboard: null, exchanges: [] };
const EMPTY_CHAT = applyEvent(undefined, { type: "welcome", me: ME, link: LINK, ...NOBODY });

test("a chat page shows posts in order, each once and in its latest version", () => {
  const told = fc.array(fc.record({ id: fc.integer({ min: 1, max: 30 }), edits: fc.nat({ max: 9 }) }));
  forAll(told, (events) => {
    const state = events.reduce(
      (before, { id, edits }) => applyEvent(before, { type: "post", post: postOf(id, edits) }),
      EMPTY_CHAT,
    );
    const last = new Map(events.map(({ id, edits }) => [id, edits]));
    const expected = [...last].toSorted(([a], [b]) => a - b);
    expect(state?.posts.map((post) => [post.id, post.by === "service" && post.edits])).toEqual(expected);
  });
});

test("a post that moves to the end of a conversation is shown only there, and counts as unread", () => {
  const posts = [postOf(1, 0), postOf(2, 0), { ...postOf(1, 1), place: 3 }];
  const state = posts.reduce((before, post) => applyEvent(before, { type: "post", post }), EMPTY_CHAT);
  expect(state?.posts.map(({ id }) => id)).toEqual([2, 1]);
  expect(state && unreadIn(state, "general", 2)).toBe(1);
});

test("a chat page keeps the newest note on each post, and drops notes on posts that it no longer shows", () => {
  const note = (about: number, text: string) =>
    ({ type: "note", note: { about, to: ME.id, message: { ...MESSAGE, text } } }) as const;
  const events: StreamEvent[] = [
    note(9, "on a post that is gone"),
    ...[1, 2].map((id) => ({ type: "post", post: postOf(id, 0) }) as const),
    note(1, "first"),
    note(2, "other"),
    note(1, "second"),
  ];
  const state = events.reduce(applyEvent, EMPTY_CHAT);
  const kept = [...(state?.notes ?? [])].map(([about, { message }]) => `${about} ${message.text}`);
  expect(kept.toSorted()).toEqual(["1 second", "2 other"]);
});

test("a post that is ephemeral or in a DM is shown only to the member it is meant for", () => {
  const ids = fc.constantFrom("a", "b");
  const conversations = fc.constantFrom("general", "dm:a", "dm:b");
  forAll(ids, conversations, fc.option(ids), (reader, conversation, onlyFor) => {
    const isDm = conversation.startsWith("dm:");
    const expected = (onlyFor === null || onlyFor === reader) && (!isDm || conversation === `dm:${reader}`);
    expect(isSeenBy(reader, { ...postOf(1, 0), conversation, onlyFor })).toBe(expected);
  });
});

test("a room keeps the last 300 posts of a conversation, and ignores posts to unknown conversations", () => {
  const room = new Room([GENERAL], ignore);
  const shown = Array.from({ length: 305 }, () => room.show("general", MESSAGE));
  room.show("elsewhere", MESSAGE);
  room.edit(shown[0] ?? 0, { ...MESSAGE, text: "late" });
  expect(room.postsFor("anyone").map(({ id }) => id)).toEqual(shown.slice(5));
});

test("only an update that starts a phase of a game moves a message to the end", () => {
  const room = new Room([GENERAL], ignore);
  const [first, second] = [room.show("general", MESSAGE), room.show("general", MESSAGE)];
  const order = () => room.postsFor("anyone").map(({ id }) => id);
  room.edit(first, { ...MESSAGE, kind: "answer_update" });
  expect(order()).toEqual([first, second]);
  room.edit(first, { ...MESSAGE, kind: "time_up" });
  expect(order()).toEqual([second, first]);
});

test("a note belongs to a message of its own conversation, and a member's next note on the message replaces the previous note", () => {
  const told: StreamEvent[] = [];
  const room = new Room([GENERAL, { id: "lounge", name: "lounge" }], (event) => told.push(event));
  const post = room.show("general", MESSAGE);
  const note = (text: string, conversation = "general", about = MESSAGE.id) =>
    room.note(conversation, about, "u1", { ...MESSAGE, text });
  expect([note("one"), note("two")]).toEqual([true, true]);
  expect([note("here", "lounge"), note("there", "general", "msg_unknown")]).toEqual([false, false]);
  expect(room.notesFor("u1")).toMatchObject([{ about: post, to: "u1", message: { text: "two" } }]);
  expect(room.notesFor("u2")).toEqual([]);
  expect(told.filter(({ type }) => type === "note")).toHaveLength(2);
});

test("a full room removes the member who joined first, and the member's DM", () => {
  const room = new Room([GENERAL], ignore);
  const joined = Array.from({ length: 500 }, (_, i) => room.join(`member ${i}`));
  room.show(`dm:${joined[0]?.member.id}`, MESSAGE);
  expect(room.allPosts()).toHaveLength(1);
  const late = room.join("late");
  expect(room.memberOf(late.key)).toEqual(late.member);
  expect(joined.filter(({ key }) => room.memberOf(key) === undefined)).toEqual([joined[0]]);
  expect(room.allPosts()).toEqual([]);
});

const exchange = (what: Exchange["what"], body: string, status = 200): Omit<Exchange, "id" | "times"> => ({
  at: "",
  what,
  method: "GET",
  path: "/",
  request: { headers: [], body: "", isShortened: false },
  eventIds: [],
  answer: { status, headers: [], body, isShortened: false },
  failure: null,
  ms: 1,
});
const EMPTY = exchange("poll", '{"events":[],"next":"1"}');
const REPORT = exchange("report", "{}", 202);

test("the summary of a poll says how many events it returned, or that it failed", () => {
  const page = (count: number) =>
    JSON.stringify({ events: Array.from({ length: count }, () => ({ id: "evt_1" })) });
  const gistOf = (body: string, status?: number) =>
    gist({ ...exchange("poll", body, status), id: 1, times: 1 });
  expect([0, 1, 2].map((count) => gistOf(page(count)))).toEqual(["no events", "1 event", "2 events"]);
  expect([401, 409, 503].map((status) => gistOf("{}", status))).toEqual(["failed", "failed", "failed"]);
  const cut = { ...exchange("poll", ""), answer: null, failure: "the network is cut", id: 1, times: 1 };
  expect(gist(cut)).toBe("the network is cut");
});

test("the wire log merges consecutive empty polls, and keeps the last 100 entries", () => {
  const log = createWireLog(ignore);
  const all = [EMPTY, EMPTY, REPORT, EMPTY, exchange("poll", "{}", 503), EMPTY];
  for (const each of all) log.add(each);
  const kept = log.exchanges.map(({ id, times }) => `${id}: ${times}`);
  expect(kept).toEqual(["5: 1", "4: 1", "3: 1", "2: 1", "1: 2"]);
  for (let i = 0; i < 150; i++) log.add(REPORT);
  expect([log.exchanges.length, log.exchanges[0]?.id]).toEqual([100, 155]);
});

test("the wire log shortens signatures and long bodies, and omits headers that are not in the contract", () => {
  const unit = fc.constantFrom(..."0123456789abcdefABCDEF");
  const hex = fc.string({ unit, minLength: 64, maxLength: 64 });
  forAll(fc.array(hex, { minLength: 1, maxLength: 4 }), (digests) => {
    const header = `t=1,${digests.map((each) => `v1=${each}`).join(",")}`;
    const headers = { "service-signature": header, authorization: "Bearer x", cookie: "y" };
    const side = wireSide(headers, Buffer.alloc(10_000, "z"));
    const cut = digests.map((each) => `v1=${each.slice(0, 8)}…`).join(",");
    expect(side.headers).toEqual([["service-signature", `t=1,${cut}`]]);
    expect([side.body.length < 4_100, side.isShortened]).toEqual([true, true]);
    expect(side.body).toContain("10000 bytes");
  });
});

const SECRETS = ["the new secret", "the old secret"];

test("`chat-bridge-check --observe` gets the latest messages with their edits, in the order of posting, up to about 1 MiB", () => {
  const mib = 1024 * 1024;
  const lengths = fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: 1, maxLength: 20 });
  forMany(30, lengths, (each) => {
    const texts = each.map((length, i) => `${i} ${"ü".repeat(length)}`);
    const room = new Room([GENERAL], ignore);
    const ids = texts.map(() => room.show("general", MESSAGE));
    for (const [i, text] of texts.entries()) room.edit(ids[i] ?? 0, { ...MESSAGE, text });
    room.note("general", MESSAGE.id, "u1", { ...MESSAGE, text: "a note" });
    const { body } = createObservation(room, SECRETS)({ "service-signature": sign("", SECRETS) }, "");
    const { messages } = JSON.parse(body) as { messages: { text: string }[] };
    const all = [...texts, "a note"];
    expect(messages.map(({ text }) => text)).toEqual(all.slice(all.length - messages.length));
    const bytes = Buffer.byteLength(body);
    expect(bytes).toBeLessThan(mib + 1024);
    // If the answer omits messages, adding the newest omitted message would make the answer too large.
    const next = all.at(-messages.length - 1) ?? "";
    if (messages.length < all.length) expect(bytes + Buffer.byteLength(next)).toBeGreaterThan(mib - 1024);
  });
});

test("during a rotation, `chat-bridge-check --observe` can sign with either secret, and with no other secret", () => {
  const observe = createObservation(new Room([], ignore), SECRETS);
  const ask = (secret: string) => observe({ "service-signature": sign("a=1", secret) }, "a=1").status;
  expect([...SECRETS, "another"].map(ask)).toEqual([200, 200, 401]);
});
