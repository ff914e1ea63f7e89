import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { readInboundEvent } from "../../edge/public/read-inbound-event";
import { readJson } from "../../edge/public/read-json";
import { many } from "../harness/for-all";
import { inboundBody } from "./inbound-bodies";
import { createRandom, SEED } from "./random";

const CASES = 50_000;
/** Timeout in ms. The test alone takes a few seconds, but other tests slow it down when they run at the same time. */
const ALL_CASES_MS = 600_000;

/**
 * The rules for inbound events, copied from the contract's tables as data for a simple validator. The numbers and rules
 * are repeated here on purpose, so that the test detects errors in the edge's schemas.
 */
const text = (minLength: number, maxLength: number) => ({
  type: "string",
  minLength,
  maxLength,
  isUnicode: true,
});
const orNull = (rule: ReturnType<typeof text>) => ({ ...rule, type: ["string", "null"] });
const CHANNEL_ID = {
  minLength: 1,
  maxLength: 128,
  not: { type: "string", pattern: "^dm:" },
  isUnicode: true,
};
const MEMBER_CHANNEL_ID = {
  if: { type: "string", pattern: "^dm:" },
  then: { minLength: 4, maxLength: 131 },
  else: { minLength: 1, maxLength: 128 },
  isUnicode: true,
};
const object = (required: readonly string[], properties: object) => ({
  type: "object",
  required,
  properties,
  additionalProperties: false,
});
const channel = (id: object) => ({
  ...object(["id"], { id: { type: "string", ...id }, name: orNull(text(0, 128)) }),
  ...id,
  type: ["string", "object"],
});
const user = object(["id"], { id: text(1, 128), name: orNull(text(0, 128)) });
const event = (required: string, properties: object) =>
  object(["type", "channel", "user", ...required.split(" ")], {
    type: {},
    id: text(1, 128),
    user,
    ...properties,
  });

const ajv = new Ajv2020({ allErrors: true, strict: false });
ajv.addKeyword({
  keyword: "isUnicode",
  type: "string",
  schemaType: "boolean",
  validate: (_wanted: boolean, value: string) => !/\p{Surrogate}/u.test(value),
});
const VALID = {
  command: ajv.compile(event("text", { channel: channel(CHANNEL_ID), text: text(0, 2_000) })),
  action: ajv.compile(
    event("messageId action", {
      channel: channel(MEMBER_CHANNEL_ID),
      messageId: text(1, 128),
      action: text(1, 512),
    }),
  ),
  message: ajv.compile(
    event("text", {
      channel: channel(MEMBER_CHANNEL_ID),
      text: text(1, 4_000),
      replyTo: orNull(text(0, 128)),
    }),
  ),
};

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns the fields that are invalid according to the contract: none for a valid event; "" for a body that is not an
 * object.
 */
function blamedFields(body: unknown): ReadonlySet<string> {
  if (!isFields(body)) return new Set([""]);
  const { type } = body;
  if (type !== "command" && type !== "action" && type !== "message") return new Set(["type"]);
  const isValid = VALID[type];
  const blamed = new Set(isValid(body) ? [] : (isValid.errors ?? []).map(fieldOf));
  const id = isFields(body["channel"]) ? body["channel"]["id"] : body["channel"];
  const member = isFields(body["user"]) ? body["user"]["id"] : undefined;
  if (typeof id !== "string" || !id.startsWith("dm:")) return blamed;
  const isOther = typeof member === "string" && id !== `dm:${member}`;
  // If a DM channel is invalid, the invalid field is `channel`, whether the channel is an id or an object.
  if (isOther || blamed.has("channel.id")) blamed.add("channel");
  return blamed;
}

function fieldOf({ instancePath, params }: ErrorObject): string {
  const names = instancePath
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const inner = (params["missingProperty"] ?? params["additionalProperty"]) as string | undefined;
  return [...names, ...(inner === undefined ? [] : [inner])].join(".");
}

test(
  `the edge accepts and rejects ${CASES} bodies as the contract's tables define`,
  () => {
    const random = createRandom(SEED);
    const different: string[] = [];
    const seen = { accepted: 0, rejected: 0 };
    for (let done = 0; done < many(CASES) && different.length < 10; done++) {
      const json = JSON.stringify(inboundBody(random));
      const read = readInboundEvent(readJson(Buffer.from(json))?.value);
      const blamed = blamedFields(JSON.parse(json));
      const named = read.$case === "event" ? undefined : (read.value.field ?? "");
      seen[named === undefined ? "accepted" : "rejected"]++;
      const isSame = named === undefined ? blamed.size === 0 : blamed.has(named);
      if (!isSame)
        different.push(`the edge names ${named}, the contract blames ${[...blamed].join(" ")}: ${json}`);
    }
    expect({ SEED, different }).toEqual({ SEED, different: [] });
    // The test is useful only if the edge accepts many of the generated bodies and rejects many others.
    expect(Math.min(seen.accepted, seen.rejected)).toBeGreaterThan((seen.accepted + seen.rejected) / 5);
  },
  ALL_CASES_MS,
);
