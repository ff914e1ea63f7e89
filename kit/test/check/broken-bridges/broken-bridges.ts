import { createHmac } from "node:crypto";
import { MESSAGE_KINDS, type Message } from "../../../events";
import { readJson } from "../../../read-event";
import { decodeLatin1, HASHED_TEXTS, inAscii, SHOWN_TEXTS } from "./broken-texts";
import { SECRET } from "./memory-chat";
import { digestOf, type Change } from "./plain-bridge";

/**
 * A faulty bridge: its fault, the steps that differ, the ids of the broken rules, and a pattern for the first finding.
 */
type BrokenBridge = readonly [what: string, Change, breaks: string, told: RegExp];

const KNOWN_FIELDS = "id,type,workspace,sequence,createdAt,expiresAt,channel,user,message".split(",");
const isKnownKind = (kind: string) => MESSAGE_KINDS.some((known) => known === kind);

/** Returns the body after parsing and serializing its JSON. */
const rewritten = (raw: Buffer): string => JSON.stringify(readJson(raw)) ?? "";

/** Returns the body as Python's json.dumps would write it: in ASCII, with a space after each comma and colon. */
const inPython = (raw: Buffer): string =>
  inAscii(JSON.stringify(readJson(raw), undefined, 1).replaceAll(/,\n */g, ", ").replaceAll(/\n */g, ""));
/** Returns the body as Go's json.Marshal would write a map: with sorted keys. */
const inGo = (raw: Buffer): string => {
  const keys = [...raw.toString().matchAll(/"(\w+)":/g)].map(([, key = ""]) => key);
  return JSON.stringify(readJson(raw), keys.toSorted());
};

/** Returns a change that makes the bridge accept only the digest that `right` returns. */
const signedBy = (right: (timestamp: string, raw: Buffer) => string): Change => ({
  isRight: (digest, timestamp, raw) => digest === right(timestamp, raw),
});
const underKey = (key: string | Buffer) => signedBy((timestamp, raw) => digestOf(timestamp, raw, key));

/** A clock that is an hour behind. */
const LATE = {
  now: () => Date.now() / 1000 - 3_600,
  date: () => new Date(Date.now() - 3_600_000).toUTCString(),
};

type Row = Message["buttons"][number];
const drawsRows = (draw: (row: Row) => Row): Change => ({
  draws: (message) => ({ ...message, buttons: message.buttons.map(draw) }),
});

const no = () => false;

export const BROKEN_BRIDGES: readonly BrokenBridge[] = [
  [
    "does not check signatures",
    { isRight: () => true, toleranceSeconds: Infinity },
    "unsigned-refused forged-refused raw-bytes old-refused rotation",
    /a push with no signature was answered with 204, not rejected/,
  ],
  [
    "checks the signature against the body that it has parsed and serialized again",
    signedBy((timestamp, raw) => digestOf(timestamp, rewritten(raw))),
    "raw-bytes",
    /signed as it stands, was answered with 401.*bytes before any body parser/s,
  ],
  [
    "checks the signature against the body as Python would serialize it",
    signedBy((timestamp, raw) => digestOf(timestamp, inPython(raw))),
    "answers raw-bytes",
    /a ping was answered with 401\n.*Python's json\.dumps.*parsed and written again.*before any body parser/s,
  ],
  [
    "checks the signature against the body as Go would serialize it",
    signedBy((timestamp, raw) => digestOf(timestamp, inGo(raw))),
    "answers raw-bytes",
    /keys in alphabetical order, as Go does.*before any body parser/s,
  ],
  [
    "does not include the timestamp in the signed bytes",
    signedBy((_timestamp, raw) => createHmac("sha256", SECRET).update(raw).digest("hex")),
    "answers",
    /digest of the body alone.*with t exactly as/s,
  ],
  ["uses an empty secret", underKey(""), "answers", /under an empty secret.*give the bridge its secret/s],
  ["has a line break in its secret", underKey(`${SECRET}\n`), "answers", /a line break.*as the key/s],
  ["decodes its secret as base64", underKey(Buffer.from(SECRET, "base64")), "answers", /decoded from base64/],
  [
    "has a secret other than the workspace's",
    underKey("a"),
    "answers",
    /may have another.*--workspace.*t=\d+,v1=\w+ for .*"ping"/s,
  ],
  [
    "reads the timestamp t as milliseconds",
    { now: Date.now, toleranceSeconds: 3e5 },
    "answers",
    /409\n.*in milliseconds.*in seconds/s,
  ],
  [
    "has a clock that is an hour behind",
    LATE,
    "answers",
    /clock is 60 minutes behind this machine's.*set the clock/s,
  ],
  [
    "has no route at the path of its URL",
    { accepts: () => 404 },
    "answers",
    /answered with 404\n.*nothing accepts POST.*path of --url/s,
  ],
  [
    "accepts a prefix of the digest",
    { isRight: (digest, t, raw) => digest !== "" && digestOf(t, raw).startsWith(digest) },
    "forged-refused",
    /only the first half of its digest was answered with 204.*whole digest/s,
  ],
  ["ignores the timestamp", { toleranceSeconds: Infinity }, "old-refused", /6 minutes .* 204.*300 seconds/s],
  [
    "accepts timestamps for only 10 s",
    { toleranceSeconds: 10 },
    "recent-taken",
    /4 minutes .* 409.*300 seconds/s,
  ],
  [
    "reads only the first v1 entry",
    { entries: (all) => all.slice(0, 1) },
    "rotation",
    /second v1 .* 401.*all v1/s,
  ],
  [
    "answers a push only after its work in the chat",
    { editMs: 150, answersAfterWork: true },
    "answer-before-work",
    /of 40 were not.*queue/s,
  ],
  [
    "does not dedupe",
    { isDeduping: false },
    "repeats",
    /is shown [234] times.*keep the ids of handled events for 24 hours/s,
  ],
  [
    "answers a repeat with 409",
    { repeatStatus: 409 },
    "repeats",
    /the same event again .* 409.*answer with 2xx/s,
  ],
  [
    "applies outdated updates",
    { isOutdated: () => false },
    "update-order",
    /the older update" is shown.*sequence/s,
  ],
  [
    "answers a message of an unknown kind with 500",
    { accepts: (event) => ("message" in event && !isKnownKind(event.message.kind) ? 500 : 204) },
    "unknown-kind",
    /unknown kind was answered with 500.*`card`/s,
  ],
  [
    "rejects unknown fields",
    { accepts: (event) => (Object.keys(event).every((name) => KNOWN_FIELDS.includes(name)) ? 204 : 400) },
    "unknown-fields",
    /unknown fields was answered with 400.*new fields come/s,
  ],
  [
    "shows expired events",
    { isExpired: no },
    "expired-dropped",
    /stale" is shown, although .*a minute ago.*own clock/s,
  ],
  [
    "redirects pushes",
    { redirect: "https://elsewhere/" },
    "answers",
    /to https:\/\/elsewhere.*not followed/s,
  ],
  [
    "drops an update that arrives before its create",
    { holdMs: 0 },
    "update-held",
    /was not shown within \d+ seconds.*hold the update for 5 s/s,
  ],
  ["holds updates forever", { holdMs: Infinity }, "hold-ends", /more than 5 seconds later.*drop a held/s],
  ["posts updates as new messages", { editsInPlace: false }, "update-in-place", /still shown/],
  [
    "does not show a question that arrives in an update",
    { shows: (event) => event.type !== "message.update" || event.message.kind !== "question" },
    "every-kind",
    /the kind question" was not shown/,
  ],
  [
    "shows an ephemeral message to another member",
    { onlyFor: (event) => (event.type === "message.ephemeral" ? "somebody else" : undefined) },
    "every-type",
    /an ephemeral" is shown .* to "somebody else" alone, not to chat-bridge-check-user.*its `user` alone/s,
  ],
  [
    "shows created messages to one member only",
    { onlyFor: () => "chat-bridge-check-user" },
    "observed",
    /to "chat-bridge-check-user" alone, not to everybody.*for everybody in its channel/s,
  ],
  [
    "shows only the first button of each row",
    drawsRows((row) => row.slice(0, 1)),
    "every-type",
    /with the buttons \["Yes"\], not with the buttons \["Yes","More"\].*buttons of all rows.*leave `buttons` out/s,
  ],
  [
    "shows an image from a URI other than the event's",
    { draws: (message) => ({ ...message, image: message.image && `${message.image}?size=small` }) },
    "every-type update-in-place",
    /with the image ".*\?size=small", not with the image .*its URI as the event gave it.*leave `image` out/s,
  ],
  [
    "replaces only the text when it applies an update",
    { draws: (message, before = message) => ({ ...before, text: message.text }) },
    "update-in-place",
    /with the buttons \["Yes"\], not with no buttons.*replace text, buttons and image/s,
  ],
  ...HASHED_TEXTS.map(([what, hashed, told]): BrokenBridge => {
    const change = signedBy((timestamp, raw) => digestOf(timestamp, hashed(raw)));
    return [`hashes a body as ${what}`, change, "raw-bytes", told];
  }),
  ...SHOWN_TEXTS,
  [
    "decodes a body as Latin-1 after it has checked the signature",
    { decode: decodeLatin1 },
    "text-unchanged ids-unchanged",
    /a message\.create, the sample of latin letters is altered.*decoded as Latin-1/s,
  ],
];
