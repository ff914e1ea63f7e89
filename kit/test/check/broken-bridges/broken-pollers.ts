import type { EventPage, MessageUpdate, OutboundEvent } from "../../../events";
import { readJson } from "../../../read-event";
import { decodeLatin1, HASHED_TEXTS, SHOWN_TEXTS } from "./broken-texts";
import type { PollerChange } from "./plain-poller";

/**
 * A faulty bridge that polls: its fault, the steps that differ, the ids of the broken rules, and a pattern for the
 * first finding.
 */
type BrokenPoller = readonly [what: string, PollerChange, breaks: string, told: RegExp];

const EVENT = { type: "command", id: "1", channel: "c1", user: { id: "u1" }, text: "help" };
const KNOWN = ["message.create", "message.update", "message.ephemeral", "dm.create", "ping"];
const isUnknown = ({ type }: { readonly type: string }) => !KNOWN.includes(type);
const isUpdate = (event: OutboundEvent): event is MessageUpdate => event.type === "message.update";

/** Returns the events of a page, without the second and later updates of each message. */
function withFirstUpdates({ events }: EventPage): readonly OutboundEvent[] {
  const updates = events.filter(isUpdate);
  const isFirst = (event: MessageUpdate) =>
    updates.find(({ message }) => message.id === event.message.id) === event;
  return events.filter((event) => !isUpdate(event) || isFirst(event));
}

/** Returns a function that turns updates of unknown messages into creates. */
function postingUpdates(): (page: EventPage) => readonly OutboundEvent[] {
  const known = new Set<string>();
  const isFresh = ({ expiresAt }: OutboundEvent) => expiresAt === null || Date.parse(expiresAt) > Date.now();
  return ({ events }) =>
    events.map((event) => {
      if (event.type === "ping" || !isFresh(event) || known.has(event.message.id)) return event;
      known.add(event.message.id);
      return isUpdate(event) ? { ...event, type: "message.create" } : event;
    });
}

/** Returns a function that moves the cursor only at every second page. */
function pollingTwice(): NonNullable<PollerChange["afterPage"]> {
  let count = 0;
  return ({ next }, after) => (++count % 2 === 0 ? next : after);
}

export const BROKEN_POLLERS: readonly BrokenPoller[] = [
  [
    "polls the path of another workspace",
    { path: () => "/hooks/another/events" },
    "polls",
    /GET \/hooks\/another\/events was answered with 404: .*\/hooks\/<workspace id>\/events/,
  ],
  ["does not sign polls", { sendsSignature: false }, "polls", /no Service-Signature.*sign every poll/s],
  [
    "has a secret other than the workspace's",
    { key: "another secret" },
    "polls",
    /not valid under any secret.*the secret that the check was given/s,
  ],
  [
    "uses an empty secret",
    { key: "" },
    "polls",
    /computed with an empty secret.*give the bridge its secret/s,
  ],
  [
    "has a clock that is an hour behind",
    { now: () => Math.floor(Date.now() / 1000) - 3_600 },
    "polls",
    /the bridge's clock is 360\d seconds behind.*correct a wrong clock/s,
  ],
  ["signs with a timestamp in milliseconds", { now: () => Date.now() }, "polls", /milliseconds.*in seconds/s],
  [
    "parses cursors as numbers",
    { afterPage: ({ next }) => (next === null ? null : String(Number(next))) },
    "cursor",
    /the next poll had after="\d+", not the page's next, "0\d+".*as the text that it is/s,
  ],
  [
    "sends `after=null` when it has no cursor",
    { afterPage: ({ next }) => String(next) },
    "cursor",
    /whose next was null, the next poll had after="null".*omit `after`/s,
  ],
  [
    "never sends a cursor",
    { query: () => "" },
    "cursor",
    /polled again and again with no `after`, not with the page's next, "0\d+"/,
  ],
  [
    "never moves its cursor past the first page",
    { afterPage: ({ next }, after) => after ?? next },
    "cursor",
    /polled again and again with after="0\d+", not with the page's next/,
  ],
  [
    "polls every page twice",
    { afterPage: pollingTwice() },
    "cursor",
    /repeated the `after` of a page that had only a ping/,
  ],
  [
    "sends an unknown parameter",
    { query: ({ after }) => (after === null ? "wait=1" : `after=${after}&wait=1`) },
    "poll-query",
    /the query of poll 1 was \?wait=1: the parameter "wait" is unknown/,
  ],
  [
    "repeats a parameter",
    { query: ({ after }) => (after === null ? "" : `after=${after}&after=${after}`) },
    "poll-query",
    /the parameter after is repeated/,
  ],
  [
    "asks for more events than a page can have",
    { query: ({ after }) => (after === null ? "limit=500" : `after=${after}&limit=500`) },
    "poll-query",
    /limit must be an integer from 1 to 100/,
  ],
  [
    "sends an empty `after` with its first poll",
    { query: ({ after }) => `after=${after ?? ""}` },
    "poll-query",
    /after is neither a cursor nor latest/,
  ],
  [
    "signs an empty string instead of the query",
    { signedText: () => "" },
    "poll-signed",
    /not valid under any secret.*covers an empty string.*everything after `\?`/s,
  ],
  [
    "signs the question mark too",
    { signedText: (query) => (query === "" ? "" : `?${query}`) },
    "poll-signed",
    /with the question mark before it/,
  ],
  [
    "signs the path and the query",
    { signedText: (query, path) => (query === "" ? path : `${path}?${query}`) },
    "poll-signed",
    /the signature covers the path/,
  ],
  [
    "computes the timestamp of its signatures only once",
    { now: ({ startedAt }) => startedAt },
    "poll-fresh",
    /the timestamp of poll \d+ was \d+ seconds old.*again for every poll/s,
  ],
  ["ignores hasMore", { waitsForMore: true }, "has-more", /came after 2\.\d seconds.*without a wait/s],
  [
    "polls every 500 ms",
    { intervalMs: 500 },
    "poll-interval",
    /polled again after 0\.\d seconds.*wait for 2/s,
  ],
  ["polls every 15 seconds", { intervalMs: 15_000 }, "poll-interval", /polled again after 15\.\d seconds/],
  [
    "starts again from the oldest event after a page without events",
    { afterPage: ({ next, events }) => (events.length === 0 ? null : next) },
    "poll-interval",
    /the next poll had no `after`, not after="0\d+" again.*keep that cursor/s,
  ],
  [
    "does not check signatures",
    { checksForm: false, toleranceSeconds: Infinity },
    "page-unsigned page-forged page-raw-bytes page-stale",
    /a page with no signature was used: the next poll had after="0\d+".*verify its signature/s,
  ],
  [
    "accepts a prefix of the digest",
    { isRight: (digest, expected) => expected.startsWith(digest) },
    "page-forged",
    /only the first half of its digest was used/,
  ],
  [
    "checks the signature against the page that it has parsed and serialized again",
    { covered: (raw) => JSON.stringify(readJson(raw)) },
    "page-raw-bytes",
    /whose JSON is written with spaces, the bridge polled again and again with .*read the bytes/s,
  ],
  ["ignores the timestamp of a page", { toleranceSeconds: Infinity }, "page-stale", /6 minutes ago was used/],
  [
    "accepts timestamps for only 10 s",
    { toleranceSeconds: 10 },
    "page-stale",
    /a page signed 4 minutes ago, the bridge polled again and again with.*300 seconds/s,
  ],
  [
    "reads only the first v1 entry",
    { entries: (all) => all.slice(0, 1) },
    "rotation",
    /signed with a new secret and the bridge's secret, .*check all v1 entries/s,
  ],
  [
    "ignores Retry-After",
    { waitAfter: () => 2_000 },
    "retry-after",
    /Retry-After: 3, the bridge polled again after 2\d\d\d ms.*read Retry-After/s,
  ],
  [
    "stops polling after a 5xx",
    { waitAfter: (status) => (status === 503 ? undefined : 3_000) },
    "server-error",
    /after a 503 with an HTML page, the bridge did not poll again within 30 seconds/,
  ],
  [
    "polls again immediately after a 5xx",
    { waitAfter: (status) => (status === 503 ? 0 : 3_000) },
    "server-error",
    /after a 503 with an HTML page, the bridge polled again after \d+ ms/,
  ],
  [
    "loses its cursor at a 5xx",
    { afterFailure: (after, status) => (status === 503 ? null : after) },
    "server-error",
    /had no `after`, not after="0\d+" again.*same `after`/s,
  ],
  [
    "loses its cursor when the connection is dropped",
    { afterFailure: (after, status) => (status === 0 ? null : after) },
    "dropped-connection",
    /dropped in the middle of a page, the next poll had no `after`/,
  ],
  [
    "fails on an event of an unknown type",
    {
      read({ events }) {
        if (events.some(isUnknown)) throw new Error("unknown type");
        return events;
      },
    },
    "unknown-type",
    /an event of an unknown type, the bridge polled again and again with.*skip an event/s,
  ],
  [
    "drops a page that contains an event of an unknown type",
    { read: ({ events }) => (events.some(isUnknown) ? [] : events) },
    "unknown-type",
    /after an event of an unknown type" was not shown/,
  ],
  [
    "starts again from the oldest event after a gap",
    { afterPage: ({ next, gap }) => (gap ? null : next) },
    "gap",
    /after a page whose gap is true, the next poll had no `after`/,
  ],
  [
    "applies the first of several updates on a page",
    { read: withFirstUpdates },
    "highest-update",
    /the last update" was not shown.*the highest sequence/s,
  ],
  [
    "posts an update whose message is unknown",
    { read: postingUpdates() },
    "update-of-expired",
    /an update of an expired message" is shown, although the create had expired/,
  ],
  [
    "shows repeated events again",
    { isDeduping: false },
    "repeats",
    /shown once" is shown \d times.*24 hours, and skip an event with a known id$/s,
  ],
  [
    "shows expired events",
    { isExpired: () => false },
    "update-of-expired expired-dropped",
    /is shown, although the create had expired/,
  ],
  ["applies outdated updates", { isOutdated: () => false }, "update-order", /the older update" is shown/],
  [
    "drops an update that arrives before its create",
    { holdMs: 0 },
    "update-held",
    /was not shown.*hold the update for 5/s,
  ],
  [
    "posts updates as new messages",
    { editsInPlace: false },
    "highest-update update-in-place",
    /although the page had a newer update/,
  ],
  [
    "sends an event with an unknown field",
    { sends: { ...EVENT, extra: 1 } },
    "inbound-valid",
    /event 1 was answered with 400: extra is not a field/,
  ],
  [
    "sends an event without an id",
    { sends: { ...EVENT, id: undefined } },
    "inbound-retry",
    /has no id.*with an `id`/s,
  ],
  [
    "does not retry an event",
    { sends: EVENT, retriesEvents: false },
    "inbound-retry",
    /not sent again within 15 seconds/,
  ],
  [
    "changes the body of an event when it retries",
    { sends: EVENT, resent: (body) => body.replace("help", "again") },
    "inbound-retry",
    /with another body/,
  ],
  [
    "retries an event with the old signature",
    { sends: EVENT, resendsSignature: true },
    "inbound-retry",
    /with the timestamp of the first attempt.*with a new signature/s,
  ],
  ...HASHED_TEXTS.map(([what, covered, told]): BrokenPoller => [
    `hashes a page as ${what}`,
    { covered },
    "page-raw-bytes",
    told,
  ]),
  ...SHOWN_TEXTS,
  [
    "decodes a page as Latin-1 after it has checked the signature",
    { decode: decodeLatin1 },
    "text-unchanged ids-unchanged",
    /a message\.create, the sample of latin letters is altered.*decoded as Latin-1/s,
  ],
];
