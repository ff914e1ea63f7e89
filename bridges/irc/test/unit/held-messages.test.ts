import { HeldMessages, type HeldEvent } from "../../play/held-messages";

function version(id: string, sequence: number, channel = "#games"): HeldEvent {
  const message = { id } as HeldEvent["message"];
  return { id: `evt_${id}_${sequence}`, sequence, channel, expiresAt: null, message };
}
const idsIn = (held: HeldMessages, channel = "#games") => held.of(channel).map(({ id }) => id);

test("only the newest messages of a channel are held, each in its newest version", () => {
  const held = new HeldMessages();
  expect(held.hold(version("a", 1))).toEqual([]);
  expect(held.hold(version("b", 2))).toEqual([]);
  expect(held.hold(version("a", 4))).toEqual([]);
  expect(held.hold(version("a", 3))).toBeUndefined();
  expect(held.hold(version("c", 5))).toEqual([]);
  expect(held.hold(version("d", 6))).toEqual(["b"]);
  expect(held.hold(version("x", 7, "#other"))).toEqual([]);
  expect(idsIn(held)).toEqual(["evt_a_4", "evt_c_5", "evt_d_6"]);
  expect(idsIn(held, "#other")).toEqual(["evt_x_7"]);
});

test("a printed version is no longer held, but a newer version stays held when an older version is printed", () => {
  const held = new HeldMessages();
  held.hold(version("a", 2));
  held.printed(version("a", 1));
  expect(held.isHeld({ messageId: "a", channel: "#games" })).toBe(true);
  held.printed(version("a", 2));
  expect(held.isHeld({ messageId: "a", channel: "#games" })).toBe(false);
});

test("a version that a channel refuses again and again is dropped", () => {
  const held = new HeldMessages();
  for (let refusals = 1; refusals <= 10; refusals += 1) expect(held.hold(version("a", 1))).toEqual([]);
  expect(held.hold(version("a", 1))).toEqual(["a"]);
  expect(idsIn(held)).toEqual([]);
});

test("the number of channels is limited, and the messages of a forgotten channel are dropped", () => {
  const held = new HeldMessages();
  for (let i = 0; i < 1_000; i += 1) held.hold(version(`m${i}`, i + 1, `#c${i}`));
  expect(held.hold(version("last", 2_000, "#last"))).toEqual(["m0"]);
  expect(held.drop("#c1")).toEqual(["m1"]);
  expect(idsIn(held, "#c1")).toEqual([]);
});
