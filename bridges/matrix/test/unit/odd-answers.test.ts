import * as fc from "fast-check";
import { pino } from "pino";
import { createBackground } from "../../background";
import { createDirectRooms } from "../../chat/direct-rooms";
import { createEncryptedRooms } from "../../chat/encrypted-rooms";
import { createRoomPowers } from "../../chat/room-powers";
import { createTimelineStates } from "../../chat/timeline-states";
import { MatrixApi } from "../../client/matrix-api";
import { runSync } from "../../client/sync-loop";
import { createIds } from "../../ids";
import { createDirectHelp } from "../../inbound/direct-help";
import { createInvites } from "../../inbound/invites";
import { createNames } from "../../inbound/names";
import { Reporter } from "../../inbound/reporter";
import { SyncHandler } from "../../inbound/sync-handler";
import { Upgrades } from "../../inbound/upgrades";
import { RoomList } from "../../room-list";

/** Makes the pauses before retries end immediately. */
jest.mock("node:timers/promises", () => ({ setTimeout: () => new Promise(setImmediate) }));

const OWN = "@games:example.org";
const ANN = "@ann:example.org";
const log = pino({ level: "silent" });

const event = (id: string, type: string, content: object, more: object = {}) => ({
  event_id: id,
  type,
  sender: ANN,
  origin_server_ts: Date.now(),
  content,
  ...more,
});
const text = (id: string, body: string, more: object = {}) =>
  event(id, "m.room.message", { msgtype: "m.text", body, ...more });
/** A sync response with an event of each kind that the bridge reads. */
const answer = () => ({
  next_batch: "s2",
  account_data: { events: [{ type: "m.direct", content: { [ANN]: ["!direct:example.org"] } }] },
  rooms: {
    join: {
      "!room:example.org": {
        state: { events: [event("$s", "m.room.name", { name: "Games" }, { state_key: "" })] },
        timeline: {
          limited: true,
          prev_batch: "p1",
          events: [
            text("$1", "!play start"),
            text("$2", "hello", {
              "m.relates_to": { rel_type: "m.thread", event_id: "$x", is_falling_back: true },
            }),
            text("$3", "hello", { "m.relates_to": { "m.in_reply_to": { event_id: "$x" } } }),
            event("$4", "m.reaction", {
              "m.relates_to": { rel_type: "m.annotation", event_id: "$x", key: "1️⃣" },
            }),
            event(
              "$5",
              "m.room.member",
              { membership: "join" },
              { state_key: ANN, unsigned: { prev_content: {} } },
            ),
            event("$6", "m.room.power_levels", {}, { state_key: "" }),
            event("$t", "m.room.tombstone", { replacement_room: "!next:example.org" }, { state_key: "" }),
            text("$7", "!play edited", { "m.relates_to": { rel_type: "m.replace", event_id: "$x" } }),
            text("$last", "!play help"),
          ],
        },
      },
      "!direct:example.org": { timeline: { events: [text("$8", "42")] } },
    },
    invite: {
      "!new:example.org": {
        invite_state: {
          events: [
            {
              type: "m.room.member",
              sender: ANN,
              state_key: OWN,
              content: { membership: "invite", is_direct: true },
            },
          ],
        },
      },
    },
    leave: { "!old:example.org": { timeline: { events: [text("$9", "!play bye")] } } },
  },
});

/**
 * Runs the bridge's sync loop with these sync responses. Resolves to the texts of the reported commands, the ids of the
 * skipped events, and the failures.
 */
async function follow(answers: readonly unknown[]) {
  const over = new AbortController();
  const { signal } = over;
  const commands: string[] = [];
  const skipped: (string | undefined)[] = [];
  const failures: string[] = [];
  const left = [...answers];
  const request = async ({ path }: { path: string }) => {
    if (path.endsWith("/sync")) return left.shift();
    return { event_id: "$sent", room_id: "!made:example.org", chunk: answers[0], end: 7 };
  };
  const api = new MatrixApi(request as ConstructorParameters<typeof MatrixApi>[0], (id) => skipped.push(id));
  const accepted = async () => ({ outcome: "accepted" as const, id: "id", attempts: 1 });
  const bridge = {
    command: (report: { text: string }) => (commands.push(report.text), accepted()),
    action: accepted,
    message: accepted,
    shown: () => undefined,
    shownIn: () => [],
  } as unknown as ConstructorParameters<typeof Reporter>[0]["bridge"] &
    ConstructorParameters<typeof SyncHandler>[0]["bridge"];
  const [ids, names, encrypted] = [createIds(), createNames(api), createEncryptedRooms(api)];
  const direct = createDirectRooms(api, OWN);
  const background = createBackground(signal, () => undefined);
  const invites = createInvites({ api, own: OWN, direct, encrypted, log, signal, allowed: [] });
  const typing = { COMMAND_PREFIX: "!", COMMAND_WORD: "play" };
  const powers = createRoomPowers(api, OWN);
  const roomList = new RoomList({ direct, powers, names, ids });
  const directHelp = createDirectHelp({ api, rooms: roomList, names, background, typing });
  const upgrades = new Upgrades({ api, direct, typing, settle: invites.settle, log, signal });
  const reporter = new Reporter({ bridge, api, names, ids, background, directHelp, log, signal });
  const sync = new SyncHandler({
    bridge,
    api,
    own: OWN,
    typing,
    direct,
    timeline: createTimelineStates(),
    unsaved: { untilSaved: async () => undefined },
    names,
    ids,
    invites,
    upgrades,
    powers,
    roomList,
    reporter,
    log,
    signal,
  });
  const position = {
    load: async () => ({ userId: OWN, since: "s1" }),
    save: async () => undefined,
  };
  await runSync({
    api,
    position,
    userId: OWN,
    async handle(each, since) {
      await sync.handle(each, since);
      if (left.length === 0) over.abort();
    },
    onContact: (failure) => {
      if (failure === undefined) return;
      failures.push((failure as Error).message);
      if (left.length === 0) over.abort();
    },
    signal,
  }).catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  await background.idle();
  return { commands, skipped, failures };
}

test("an edit of a message, and an event in a room that the bridge has left, are not commands", async () => {
  const { commands, skipped } = await follow([answer()]);
  expect(commands).toEqual(["start", "help"]);
  expect(skipped).toEqual([]);
});

test("a malformed event is skipped, and the other events of the sync are reported", async () => {
  const odd = answer();
  const { events } = odd.rooms.join["!room:example.org"].timeline;
  Object.assign(events[1] ?? {}, { event_id: undefined });
  Object.assign(events[2] ?? {}, { content: null });
  Object.assign(events[3] ?? {}, { sender: 7 });
  const { commands, skipped } = await follow([odd]);
  expect(commands).toEqual(["start", "help"]);
  expect(skipped).toEqual([undefined, "$3", "$4"]);
});

test("a sync response without a position counts as a failure of the homeserver, and the sync continues", async () => {
  const { failures, commands } = await follow([{ ...answer(), next_batch: null }, answer()]);
  expect(failures).toEqual(["the answer to the sync has no position"]);
  expect(commands).toContain("help");
});

/** Replaces one part of a JSON value. `at` chooses the place. */
function mutate(value: unknown, at: number, by: unknown): unknown {
  let count = 0;
  const copy = (each: unknown): unknown => {
    if (count++ === at) return by;
    if (Array.isArray(each)) return each.map(copy);
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([name, field]) => [name, copy(field)]));
  };
  return copy(value);
}

test("the bridge continues after any JSON value as a sync response", async () => {
  const json = fc.jsonValue({ maxDepth: 2 });
  const odd = fc.oneof(
    fc.tuple(fc.nat(150), json).map(([at, by]) => mutate(answer(), at, by)),
    fc
      .array(fc.tuple(fc.nat(150), json), { minLength: 2, maxLength: 6 })
      .map((changes) => changes.reduce<unknown>((value, [at, by]) => mutate(value, at, by), answer())),
    json,
  );
  await fc.assert(
    fc.asyncProperty(odd, async (first) => {
      const { commands } = await follow([first, answer()]);
      expect(commands.slice(-2)).toEqual(["start", "help"]);
    }),
    { numRuns: 200 },
  );
});
