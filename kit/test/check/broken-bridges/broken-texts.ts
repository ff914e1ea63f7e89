import { readJson } from "../../../read-event";
import { toPlainText } from "../../../plain-text";
import type { ShowChange } from "./plain-show";

type Alter = (text: string) => string;

const ABOVE_BMP = /[^\0-\uffff]/gu;
const withoutAstral: Alter = (text) => text.replaceAll(ABOVE_BMP, "");
const unescaped = /[^\0-\x7f]/g;
/** Returns text with JSON escapes in place of all characters outside ASCII. */
export const inAscii: Alter = (text) =>
  text.replaceAll(unescaped, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const inLatin1: Alter = (text) => Buffer.from(text).toString("latin1");
const nfc: Alter = (text) => text.normalize("NFC");
const nfd: Alter = (text) => text.normalize("NFD");

/**
 * Faults of bridges that compute digests over something other than the exact bytes of the body. Each fault breaks only
 * the rule about raw bytes.
 */
export const HASHED_TEXTS: readonly (readonly [
  what: string,
  (raw: Buffer) => Buffer | string,
  told: RegExp,
])[] = [
  [
    "ASCII",
    (raw) => raw.toString("ascii"),
    /decoded as ASCII, without the highest bit .* before it is hashed/,
  ],
  ["Latin-1", (raw) => raw.toString("latin1"), /decoded as Latin-1 before .*bytes of the .* as they arrive/s],
  [
    "bytes of Latin-1",
    (raw) => Buffer.from(raw.toString().replaceAll(/[^\0-\xff]/gu, "?"), "latin1"),
    /encoded as Latin-1, with \?/,
  ],
  ["NFC", (raw) => nfc(raw.toString()), /normalized to NFC before/],
  ["NFD", (raw) => nfd(raw.toString()), /normalized to NFD before/],
  [
    "characters up to U+FFFF",
    (raw) => withoutAstral(raw.toString()),
    /stripped of all characters above U\+FFFF/,
  ],
  [
    "JSON in ASCII",
    (raw) => inAscii(JSON.stringify(readJson(raw))),
    /written with JSON escapes in place of .* before it is hashed/,
  ],
  [
    "text without white space at its ends",
    (raw) => raw.toString().trim(),
    /whose JSON (has|is written with) spaces/,
  ],
];

const draws = (alter: Alter): ShowChange => ({
  draws: (message) => ({ ...message, text: alter(message.text) }),
});
const shown = (what: string, alter: Alter, told: RegExp, breaks = "text-unchanged") =>
  [`shows text ${what}`, draws(alter), breaks, told] as const;
const placed = (what: string, placeOf: Alter, told: RegExp) =>
  [
    `shows messages in channels whose ids are ${what}`,
    { placeOf } as ShowChange,
    "ids-unchanged",
    told,
  ] as const;

/** Faults of bridges that alter the texts that they show, or the ids of the channels. */
export const SHOWN_TEXTS: readonly (readonly [what: string, ShowChange, breaks: string, told: RegExp])[] = [
  shown(
    "with question marks",
    (text) => text.replaceAll(unescaped, "?"),
    /message\.create, the sample of latin letters is altered: sent U\+005A U\+006F U\+00EB .*; also altered: composed letters, .*with \? for each other UTF-16 unit/s,
  ),
  shown(
    "with JSON escapes",
    inAscii,
    /shown U\+005A U\+006F U\+005C U\+0075.*was written with JSON escapes/s,
  ),
  shown(
    "as decoded from Latin-1",
    inLatin1,
    /shown U\+005A U\+006F U\+00C3 U\+00AB.*was decoded as Latin-1/s,
  ),
  shown(
    "in NFC",
    nfc,
    /the sample of letters with combining marks is altered: sent U\+0065 U\+0301.*shown U\+00E9.*was normalized to NFC/s,
  ),
  shown("in NFD", nfd, /the sample of latin letters is altered.*was normalized to NFD/s),
  shown(
    "in lower case",
    (text) => text.toLowerCase(),
    /the sample of latin letters is altered.*changed to lower case/s,
  ),
  shown(
    "without characters above U+FFFF",
    withoutAstral,
    /message\.update, the sample of emoji is altered: sent U\+1F600 U\+1F389 U\+1F947, shown nothing.*stripped of all characters above/s,
  ),
  shown(
    "with U+FFFD for characters above U+FFFF",
    (text) => text.replaceAll(ABOVE_BMP, "\ufffd"),
    /emoji is altered.*shown U\+FFFD U\+FFFD U\+FFFD;/s,
    "text-unchanged long-text",
  ),
  shown(
    "without joiners",
    (text) => text.replaceAll("\u200d", ""),
    /emoji with joiners is altered: sent U\+1F469 U\+200D.*; also altered: emoji with skin tones$/ms,
  ),
  shown(
    "without variation selectors",
    (text) => text.replaceAll(/[\ufe0e\ufe0f]/g, ""),
    /variation selectors is altered: sent U\+2764 U\+FE0F/,
  ),
  shown(
    "without direction marks",
    (text) => text.replaceAll(/[\u200e\u200f\u2066-\u2069]/g, ""),
    /dm\.create, the sample of direction marks is altered/,
  ),
  shown("without BOMs", (text) => text.replaceAll("\ufeff", ""), /zero-width characters is altered/),
  shown(
    "without line separators",
    (text) => text.replaceAll(/[\u2028\u2029]/g, ""),
    /line separators is altered/,
  ),
  shown(
    "with ASCII spaces only",
    (text) => text.replaceAll(/\p{Zs}/gu, " "),
    /unusual spaces is altered.*with ASCII spaces in place/s,
  ),
  shown(
    "without private and unassigned characters",
    (text) => text.replaceAll(/[\p{Co}\p{Cn}]/gu, ""),
    /message\.ephemeral, the sample of private and unassigned characters is altered/,
  ),
  shown("without HTML", (text) => text.replaceAll(/<[^>]*>/g, ""), /escaped html is altered/),
  shown("without backslashes", (text) => text.replaceAll("\\", ""), /quotes and backslashes is altered/),
  shown(
    "cut by UTF-16 units",
    (text) => text.slice(0, 2_000),
    /is shown with U\+D83D, which was not sent.*cut within a character.*count code points/s,
    "long-text",
  ),
  shown(
    "cut by bytes",
    (text) => Buffer.from(text).subarray(0, 2_000).toString(),
    /is shown with U\+FFFD, which was not sent.*cut within a character/s,
    "long-text",
  ),
  placed("trimmed", (channel) => channel.trim(), /is shown in .*the text was trimmed.*do not trim/s),
  placed("in NFC", nfc, /normalized to NFC/),
  placed("in NFD", nfd, /normalized to NFD/),
  placed("in lower case", (channel) => channel.toLowerCase(), /changed to lower case/),
  placed("cut by UTF-16 units", (channel) => channel.slice(0, 128), /the text was cut/),
];

/** Returns the text of a UTF-8 body, wrongly decoded as Latin-1. */
export const decodeLatin1 = (raw: Buffer): string => raw.toString("latin1");

const asHtml: Alter = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");

/** Chats that show correct texts in an unusual way, each with the rules that can be checked only partly. */
export const CORRECT_SHOWS: readonly (readonly [what: string, ShowChange, partly: readonly string[]])[] = [
  ["shows plain text", draws(toPlainText), []],
  ["shows markup as HTML", draws(asHtml), []],
  ["shows rendered text as HTML", draws((text) => asHtml(toPlainText(text))), []],
  ["collapses white space", draws((text) => text.replaceAll(/[\t\n\u2028\u2029]+/g, " ")), []],
  ["cuts texts after 2,000 characters", draws((text) => Array.from(text).slice(0, 2_000).join("")), []],
  [
    "has no channels and users except its own",
    { shows: (event) => event.type === "ping" || !event.message.text.includes("with an unusual id") },
    ["ids-unchanged: partly checked"],
  ],
];
