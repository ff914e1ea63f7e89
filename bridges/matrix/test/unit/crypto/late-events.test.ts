import { createLateEvents } from "../../../crypto/late-events";

const event = (sender: string, id: string) => ({
  type: "m.room.encrypted",
  sender,
  event_id: id,
  content: {},
});
const ids = (late: ReturnType<typeof createLateEvents>) => late.take().map((each) => each.event.event_id);

test("events wait for at most 5 minutes", () => {
  let now = 0;
  const late = createLateEvents(() => now);
  late.add("!room", event("ann", "$1"));
  now = 200_000;
  late.add("!room", event("ann", "$2"));
  now = 400_000;
  expect(ids(late)).toEqual(["$2"]);
  expect(ids(late)).toEqual([]);
});

test("a member can replace only that member's events", () => {
  const late = createLateEvents();
  late.add("!room", event("ann", "$ann"));
  for (let i = 0; i < 60; i += 1) late.add("!room", event("eve", `$${i}`));
  const kept = ids(late);
  expect(kept).toHaveLength(51);
  expect(kept.slice(0, 2)).toEqual(["$ann", "$10"]);
});

test("at most 500 events wait", () => {
  const late = createLateEvents();
  for (let i = 0; i < 600; i += 1) late.add("!room", event(`user${i}`, `$${i}`));
  const kept = ids(late);
  expect(kept).toHaveLength(500);
  expect(kept[0]).toBe("$100");
});
