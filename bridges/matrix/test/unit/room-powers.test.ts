import { createRoomPowers, powersOf } from "../../chat/room-powers";

const OWN = "@games:example.org";
const NOTHING = { maySpeak: true, mayRedact: false };
const ALL = { maySpeak: true, mayRedact: true };
const createdBy = (sender: string, room_version: string, more: object = {}) => ({
  sender,
  content: { room_version, ...more },
});

test.each<[string, Record<string, unknown>, object, object]>([
  ["an ordinary member", {}, {}, NOTHING],
  ["a moderator", { users: { [OWN]: 50 } }, {}, ALL],
  ["a level that is text, as in old rooms", { users: { [OWN]: "50" } }, {}, ALL],
  ["everybody is a moderator", { users_default: 50 }, {}, ALL],
  ["redactions need level 60", { users: { [OWN]: 50 }, redact: 60 }, {}, NOTHING],
  [
    "the event of a redaction needs level 60",
    { users: { [OWN]: 50 }, events: { "m.room.redaction": 60 } },
    {},
    NOTHING,
  ],
  ["only moderators speak", { events_default: 50 }, {}, { maySpeak: false, mayRedact: false }],
  ["messages need level 1", { events: { "m.room.message": 1 } }, {}, { maySpeak: false, mayRedact: false }],
  ["levels of the wrong type", { users: 7, events: "x", redact: 50 }, {}, NOTHING],
  ["the creator of a room of version 12", { events_default: 50 }, createdBy(OWN, "12"), ALL],
  [
    "a further creator of a room of version 12",
    {},
    createdBy("@ann:example.org", "12", { additional_creators: [OWN] }),
    ALL,
  ],
  [
    "the creator of a room of version 11",
    { events_default: 50 },
    createdBy(OWN, "11"),
    { maySpeak: false, mayRedact: false },
  ],
])("the powers of the bridge: %s", (_what, levels, create, powers) => {
  expect(powersOf(OWN, levels, { ...create })).toEqual(powers);
});

test("power levels are read once, and again after they change", async () => {
  let level = 0;
  let reads = 0;
  const state = async () => ({ events_default: 50, users: { [OWN]: (reads += 1) && level } });
  const powers = createRoomPowers({ state, stateEvent: async () => undefined } as never, OWN);
  expect(powers.known("!r")).toBeUndefined();
  expect(await powers.of("!r")).toEqual({ maySpeak: false, mayRedact: false });
  level = 50;
  expect(await powers.of("!r")).toEqual({ maySpeak: false, mayRedact: false });
  powers.changed("!r");
  expect(await powers.of("!r")).toEqual(ALL);
  expect([reads, powers.known("!r")]).toEqual([2, ALL]);
});
