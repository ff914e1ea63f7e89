import * as fc from "fast-check";
import { applyEvent, unreadIn, type ChatState } from "../../demo/chat/page/chat-state";
import { createRoom, isSeenBy } from "../../demo/chat/room/room";
import type { Exchange, Post, ServicePost } from "../../demo/chat/shapes";
import { createWireLog, wireSide } from "../../demo/chat/wire/wire-log";

const ME = { id: "u-me", name: "Me" };
const MESSAGE = {
  id: "msg_1",
  kind: "card",
  text: "t",
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
};
const LINK = { mode: "poll", isCut: false, isSwitching: false, whyFixed: null, problem: null } as const;

function postOf(id: number, edits: number, conversation = "general"): ServicePost {
  return {
    by: "service",
    id,
    at: "2026-01-01T00:00:00Z",
    conversation,
    onlyFor: null,
    message: MESSAGE,
    edits,
  };
}

function welcomed(posts: readonly Post[] = []): ChatState | undefined {
  const seen = { me: ME, channels: [], posts, members: [ME], link: LINK, exchanges: [] };
  return applyEvent(undefined, { type: "welcome", ...seen });
}

describe("what a page shows of the stream", () => {
  const told = fc.array(fc.record({ id: fc.integer({ min: 1, max: 30 }), edits: fc.nat({ max: 9 }) }));

  test("posts are in their order, each once and as it was told of last", () => {
    fc.assert(
      fc.property(told, (events) => {
        const state = events.reduce(
          (before, { id, edits }) => applyEvent(before, { type: "post", post: postOf(id, edits) }),
          welcomed(),
        );
        const last = new Map(events.map(({ id, edits }) => [id, edits]));
        const expected = [...last].toSorted(([a], [b]) => a - b);
        expect(state?.posts.map((post) => [post.id, post.by === "service" && post.edits])).toEqual(expected);
      }),
    );
  });

  test("before it is welcomed there is nothing, and a welcome replaces all that was", () => {
    expect(applyEvent(undefined, { type: "missed" })).toBeUndefined();
    const before = applyEvent(welcomed([postOf(1, 0)]), { type: "missed" });
    expect(before?.notice).toMatch(/expired/);
    const seen = { me: ME, channels: [], posts: [postOf(2, 0)], members: [], link: LINK, exchanges: [] };
    expect(applyEvent(before, { type: "welcome", ...seen })).toMatchObject({
      posts: [{ id: 2 }],
      notice: null,
      isLive: true,
    });
  });

  test("unread are the posts of others after the last that was seen", () => {
    const mine: Post = {
      ...postOf(9, 0),
      by: "member",
      author: ME,
      text: "x",
      isCommand: false,
      replyTo: null,
      report: { is: "sent" },
    };
    const state = welcomed([postOf(1, 0), postOf(2, 0), postOf(3, 0, "lounge"), mine]);
    if (state === undefined) throw new Error("nothing is there");
    expect([0, 1, 2].map((seen) => unreadIn(state, "general", seen))).toEqual([2, 1, 0]);
  });
});

test("what is for one member alone, or in a direct conversation, is seen by that member only", () => {
  const ids = fc.constantFrom("a", "b");
  const conversations = fc.constantFrom("general", "dm:a", "dm:b");
  fc.assert(
    fc.property(ids, conversations, fc.option(ids), (reader, conversation, onlyFor) => {
      const isDm = conversation.startsWith("dm:");
      const expected = (onlyFor === null || onlyFor === reader) && (!isDm || conversation === `dm:${reader}`);
      expect(isSeenBy(reader, { ...postOf(1, 0), conversation, onlyFor })).toBe(expected);
    }),
  );
});

test("a room keeps the last 300 posts of a conversation, and what is for nowhere is shown to nobody", () => {
  const room = createRoom([{ id: "general", name: "general" }]);
  const shown = Array.from({ length: 305 }, () => room.show("general", MESSAGE));
  room.show("elsewhere", MESSAGE);
  room.edit(shown[0] ?? 0, { ...MESSAGE, text: "late" });
  expect(room.postsFor("anyone").map(({ id }) => id)).toEqual(shown.slice(5));
});

describe("a chat that is full", () => {
  const FULL = 500;
  const name = (i: number): string => `member ${i}`;

  test("forgets whoever was away the longest, with their direct conversation, and lets the next one in", () => {
    const room = createRoom([{ id: "general", name: "general" }]);
    const joined = Array.from({ length: FULL }, (_, i) => room.join(name(i)));
    const [first, second, third] = joined;
    if (first === undefined || second === undefined || third === undefined) throw new Error("it was full");
    // The first is here, and the second came back and left: the third was away the longest.
    room.enter(first.member);
    const leave = [room.enter(second.member), room.enter(second.member)];
    for (const each of leave) each();
    room.show(`dm:${third.member.id}`, MESSAGE);
    const posts = room.allPosts().length;

    const late = room.join("late");
    expect(late && room.memberOf(late.key)).toEqual(late?.member);
    const known = [first, second, third].map(({ key }) => room.memberOf(key)?.name);
    expect(known).toEqual([name(0), name(1), undefined]);
    expect([posts, room.allPosts().length]).toEqual([1, 0]);
  });

  test("never forgets who is here, and lets nobody in while all are", () => {
    const room = createRoom([]);
    const all = Array.from({ length: FULL }, (_, i) => room.join(name(i)));
    const leaves = all.map((each) => each && room.enter(each.member));
    expect(room.join("late")).toBeUndefined();
    leaves[7]?.();
    expect(room.join("later")?.member.name).toBe("later");
    expect(all.filter((each) => each && room.memberOf(each.key) === undefined)).toEqual([all[7]]);
    expect(room.join("latest")?.member.name).toBe("latest");
    expect(all.filter((each) => each && room.memberOf(each.key) === undefined)).toEqual([all[7]]);
  });
});

describe("the log of the wire", () => {
  const exchange = (what: Exchange["what"], body: string, status = 200): Omit<Exchange, "id" | "times"> => ({
    at: "",
    what,
    method: "GET",
    path: "/",
    request: { headers: [], body: "" },
    answer: { status, headers: [], body },
    failure: null,
    ms: 1,
  });
  const EMPTY = exchange("poll", '{"events":[],"next":"1"}');

  test("empty polls in a row are one entry, and nothing else is put together", () => {
    const log = createWireLog();
    for (const each of [
      EMPTY,
      EMPTY,
      exchange("report", "{}", 202),
      EMPTY,
      exchange("poll", "{}", 503),
      EMPTY,
    ])
      log.add(each);
    expect(log.exchanges.map(({ id, times }) => [id, times])).toEqual([
      [5, 1],
      [4, 1],
      [3, 1],
      [2, 1],
      [1, 2],
    ]);
  });

  test("it is bounded", () => {
    const log = createWireLog();
    for (let i = 0; i < 150; i++) log.add(exchange("report", "{}", 202));
    expect(log.exchanges.length).toBe(100);
    expect(log.exchanges[0]?.id).toBe(150);
  });

  test("signatures are cut short, headers that are not known are left out, and long bodies are shortened", () => {
    const hex = fc.string({
      unit: fc.constantFrom(..."0123456789abcdefABCDEF"),
      minLength: 64,
      maxLength: 64,
    });
    fc.assert(
      fc.property(fc.array(hex, { minLength: 1, maxLength: 4 }), (digests) => {
        const header = `t=1,${digests.map((each) => `v1=${each}`).join(",")}`;
        const headers = { "service-signature": header, authorization: "Bearer x", cookie: "y" };
        const side = wireSide(headers, Buffer.alloc(10_000, "z"));
        const cut = digests.map((each) => `v1=${each.slice(0, 8)}…`).join(",");
        expect(side.headers).toEqual([["service-signature", `t=1,${cut}`]]);
        expect(side.body.length).toBeLessThan(4_100);
        expect(side.body).toContain("10000 bytes");
      }),
    );
  });
});
