import { createBackground } from "../../background";
import { keycap, keycapNumber } from "../../chat/choices";
import { readChatId, toChatId } from "../../chat/chat-id";
import { MatrixError } from "../../client/matrix-error";
import { pathOf } from "../../client/request";
import { createIds, serverOf } from "../../ids";
import { mayInvite } from "../../inbound/invites";
import { createNotifiedRooms } from "../../notified-rooms";
import { runByMember } from "../../inbound/run-by-member";
import { mutedRoom, toChatError } from "../../chat/to-chat-error";

test("ids of up to 128 characters stay unchanged, and longer ids become digests that map back to the ids", () => {
  const ids = createIds();
  const long = `!${"a".repeat(128)}:example.org`;
  expect(ids.toService("!room:example.org")).toBe("!room:example.org");
  const short = ids.toService(long);
  expect(short.length).toBeLessThanOrEqual(128);
  expect(short).toMatch(/^!sha256:/);
  expect(ids.toMatrix(short)).toBe(long);
  expect(createIds().toService(long)).toBe(short);
  expect(ids.toMatrix("!room:example.org")).toBe("!room:example.org");
});

test.each([
  ["@ann:example.org", "example.org"],
  ["@ann:example.org:8448", "example.org:8448"],
  ["!opaque-id-of-version-12", ""],
])("the server of %s is %j", (id, server) => {
  expect(serverOf(id)).toBe(server);
});

test.each<[readonly string[], string, boolean]>([
  [[], "@ann:home.org", true],
  [[], "@ann:away.org", false],
  [["away.org"], "@ann:away.org", true],
  [["away.org"], "@ann:home.org", false],
  [["away.org"], "@ann:not-away.org", false],
  [["!room:home.org"], "@ann:anywhere.org", true],
  [["*"], "@ann:anywhere.org", true],
])("with the entries %j, %s may invite the bridge: %s", (allowed, inviter, may) => {
  expect(mayInvite(allowed, { own: "@games:home.org", inviter, roomId: "!room:home.org" })).toBe(may);
});

test("a number is read from its keycap, and a room and an event are read from their chat id", () => {
  for (let number = 1; number <= 9; number += 1) expect(keycapNumber(keycap(number))).toBe(number);
  for (const key of ["0️⃣", "🔟", "1", "11️⃣", "👍", ""]) expect(keycapNumber(key)).toBeUndefined();
  expect(readChatId(toChatId("!r:s", "$e"))).toEqual({ roomId: "!r:s", eventId: "$e" });
});

test("the values in a path are encoded", () => {
  expect(pathOf`/rooms/${"!a/b:c"}/x/${"$?#"}`).toBe("/rooms/!a%2Fb%3Ac/x/%24%3F%23");
});

test("a rate-limited request is retried after the wait that the homeserver gave, and a forbidden request is not retried", () => {
  expect(toChatError(new MatrixError(429, "M_LIMIT_EXCEEDED", 1500))).toMatchObject({ retryAfterMs: 1500 });
  expect(toChatError(new MatrixError(403, "M_FORBIDDEN"))).toMatchObject({ name: "CannotShow" });
  expect(toChatError(new MatrixError(502, ""))).toMatchObject({ name: "MatrixError" });
  expect(toChatError(new MatrixError(401, "M_UNKNOWN_TOKEN"))).toMatchObject({ name: "MatrixError" });
});

// time: controlled
test("a message waits at most 10 minutes for a room in which the bridge may not speak", () => {
  const created = (ageMs: number) => new Date(Date.now() - ageMs).toISOString();
  expect(mutedRoom(created(9 * 60_000))).toMatchObject({ name: "RetryLater" });
  expect(mutedRoom(created(10 * 60_000))).toMatchObject({ name: "CannotShow" });
});

test("rooms that have received a notice are remembered after a restart", async () => {
  let saved: readonly string[] | undefined;
  const file = { load: async () => saved, save: async (rooms: readonly string[]) => void (saved = rooms) };
  const first = createNotifiedRooms(file, () => undefined);
  await first.load();
  expect([first.isFirst("!a"), first.isFirst("!b"), first.isFirst("!a")]).toEqual([true, true, false]);
  await new Promise(setImmediate);
  const second = createNotifiedRooms(file, () => undefined);
  await second.load();
  expect([second.isFirst("!a"), second.isFirst("!c")]).toEqual([false, true]);
});

// time: ordering
test("the tasks of one member run in order, and do not delay other members", async () => {
  const ran: string[] = [];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const task = (member: string, name: string, waits?: Promise<void>) => ({
    member,
    async run() {
      await waits;
      ran.push(name);
      if (name === "b2") release();
    },
  });
  await runByMember([task("a", "a1", held), task("a", "a2"), task("b", "b1"), task("b", "b2")], 2);
  expect(ran).toEqual(["b1", "b2", "a1", "a2"]);
});

describe("the background", () => {
  const failures: unknown[] = [];
  const over = new AbortController();
  const background = createBackground(over.signal, (error) => failures.push(error));
  const ran: string[] = [];

  test("tasks run one after another, and a waiting task is replaced by a task with the same key", async () => {
    background.add("!a", "first", async () => void ran.push("first"));
    background.add("!a", "second", async () => void ran.push("replaced"));
    background.add("!a", "second", async () => void ran.push("second"));
    await background.idle();
    expect(ran).toEqual(["first", "second"]);
  });

  test("a task that failed for good is dropped and reported, and a task that failed temporarily is repeated", async () => {
    let attempts = 0;
    background.add("!a", "rejected", () => Promise.reject(new MatrixError(403, "M_FORBIDDEN")));
    background.add("!a", "limited", async () => {
      attempts += 1;
      if (attempts === 1) throw new MatrixError(429, "M_LIMIT_EXCEEDED", 1);
    });
    await background.idle();
    expect(attempts).toBe(2);
    expect(failures).toEqual([expect.objectContaining({ errcode: "M_FORBIDDEN" })]);
  });

  test("a background task waits while the homeserver limits the rate of a post", async () => {
    const order: string[] = [];
    let attempts = 0;
    const post = background.first(async () => {
      attempts += 1;
      if (attempts === 1) {
        // The task is added once the homeserver has limited the post.
        setImmediate(() => background.add("!a", "reaction", async () => void order.push("reaction")));
        throw new MatrixError(429, "M_LIMIT_EXCEEDED", 200);
      }
      order.push("post");
    }, over.signal);
    await post;
    await background.idle();
    expect(order).toEqual(["post", "reaction"]);
  });

  test("the number of waiting tasks is bounded", async () => {
    failures.length = 0;
    let count = 0;
    for (let i = 0; i < 1_500; i += 1)
      background.add(`!room${i % 10}`, `task ${i}`, async () => void (count += 1));
    await background.idle();
    expect([count, failures.length]).toEqual([1_000, 500]);
  });

  // time: ordering
  test("the rooms take turns, and each room may have a limited number of waiting tasks", async () => {
    failures.length = ran.length = 0;
    for (let i = 0; i < 250; i += 1) background.add("!busy", `task ${i}`, async () => void ran.push("busy"));
    background.add("!quiet", "task", async () => void ran.push("quiet"));
    await background.idle();
    expect(ran.indexOf("quiet")).toBe(1);
    expect([ran.length, failures.length]).toEqual([201, 50]);
  });
});
