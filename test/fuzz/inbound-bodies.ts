import type { Random } from "./random";

type Body = Record<string, unknown>;

const LENGTHS = [0, 1, 2, 127, 128, 129, 131, 132, 511, 512, 513, 1_999, 2_000, 2_001, 3_999, 4_000, 4_001];
const UNITS = ["x", "é", "e\u0301", "😀", "👩‍🚀", "\u0000", "\u2028", " ", "/", "~"];
/** Strings that are not valid Unicode: halves of surrogate pairs. */
const BROKEN = ["\ud83d", "x\ude00", "\ude00\ud83d", "😀\ud83d"];
const OTHERS = [
  null,
  0,
  7,
  true,
  false,
  [],
  ["x"],
  {},
  { id: "u1" },
  "",
  "dm:",
  "dm:u1",
  "dm:u2",
  "DM:u1",
  "dm",
  " dm:u1",
];
const UNKNOWN = [
  "extra",
  "Type",
  "userId",
  "größe",
  "a/b",
  "a~b",
  "a.b",
  "toString",
  "name",
  "id",
  "text",
  "replyTo",
  "action",
];

/** Returns a body with up to three changes to a valid event. */
export function inboundBody(random: Random): unknown {
  if (random.oneIn(200)) return random.pick(OTHERS);
  const body = validEvent(random);
  for (let count = random.oneIn(2) ? 0 : 1 + random.int(3); count > 0; count--) change(random, body);
  return body;
}

function validEvent(random: Random): Body {
  const type = random.pick(["command", "action", "message"]);
  const id = random.oneIn(4) ? textOf(random, 1, 128) : "u1";
  const isDm = type !== "command" && random.oneIn(4);
  const place = isDm ? `dm:${id}` : textOf(random, 1, 128);
  const name = () => random.pick([{}, { name: null }, { name: textOf(random, 0, 128) }]);
  return {
    type,
    channel: random.oneIn(2) ? place : { id: place, ...name() },
    user: { id, ...name() },
    ...(random.oneIn(3) ? { id: textOf(random, 1, 128) } : {}),
    ...(type === "action"
      ? { messageId: textOf(random, 1, 128), action: textOf(random, 1, 512) }
      : { text: textOf(random, type === "message" ? 1 : 0, type === "message" ? 4_000 : 2_000) }),
    ...(type === "message" && random.oneIn(3)
      ? { replyTo: random.pick([null, textOf(random, 0, 128)]) }
      : {}),
  };
}

/** Returns a string of `least` to `most` characters, often with exactly the minimum or the maximum length. */
function textOf(random: Random, least: number, most: number): string {
  const length = random.pick([least, most, least + random.int(most - least + 1), Math.min(most, least + 5)]);
  return filled(random, length);
}

function filled(random: Random, length: number): string {
  return Array.from(random.pick(UNITS).repeat(length)).slice(0, length).join("");
}

/** Sets, removes or adds a field of the event, or sometimes of its channel or user. */
function change(random: Random, body: Body): void {
  const inner = random.pick([body, body, body["channel"], body["user"]]);
  const target = (typeof inner === "object" && inner !== null ? inner : body) as Body;
  const name = random.oneIn(5) ? random.pick(UNKNOWN) : random.pick(Object.keys(target));
  if (random.oneIn(6)) delete target[name];
  else target[name] = valueOf(random);
}

function valueOf(random: Random): unknown {
  if (random.oneIn(8)) return random.pick(BROKEN);
  if (random.oneIn(8)) return `dm:${filled(random, random.pick(LENGTHS.slice(0, 8)))}`;
  return random.oneIn(2) ? structuredClone(random.pick(OTHERS)) : filled(random, random.pick(LENGTHS));
}
