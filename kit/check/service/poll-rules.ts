import { PAGE_MAX_EVENTS } from "../../../contract/numbers";
import { isCursor, isObject, readJson } from "../../read-event";
import { sign, SIGNATURE_FAULT_WORDS, SIGNATURE_HEADER, verify } from "../../signature";
import { Broken, type Rule } from "../rule";
import { envelopeFault } from "./envelope-fault";
import { expectRefused, type Answered, type ServiceTarget } from "./service-target";

/** Maximum number of held events that are fetched one by one. */
const WALK_MOST = 20;
const NO_EVENTS = 'no events are held: publish some, for example with "Send test event" in the dashboard';

/** Invalid queries, each with the parameter that the `400` must name. */
const BAD_QUERIES: readonly (readonly [string, string])[] = [
  ...["0", "101", "-1", "1.5", "abc", "", "1e1"].map((limit) => [`limit=${limit}`, "limit"] as const),
  ...["abc", "-1", "", "1.5", "LATEST", "1".repeat(19)].map((after) => [`after=${after}`, "after"] as const),
  ["limit=1&limit=1", "limit"],
  ["after=latest&after=latest", "after"],
  ["before=1", "before"],
  ["limit=1&unknown=1", "unknown"],
  // Digits and letters outside ASCII.
  ["limit=%D9%A3", "limit"],
  ["after=%EF%BC%91", "after"],
  ["gr%C3%B6%C3%9Fe=1", "größe"],
];

interface Page {
  readonly events: readonly unknown[];
  readonly next: string | null;
  readonly hasMore: boolean;
  readonly gap: boolean;
}

const MODE_RULE: Rule<ServiceTarget> = {
  id: "poll-mode",
  says: "A poll is answered with 200 and a page, or with 403 when the workspace has a target URL.",
  fix: "answer a correctly signed poll with 200, or with 403 only if a target URL is set",
  async judge(target) {
    const answer = await target.poll("");
    if (answer.status === 403) {
      expectRefused(answer, 403, "a poll");
      return { note: "the workspace has a target URL" };
    }
    pageOf(answer, "a poll", target);
    return { note: "the workspace has no target URL" };
  },
};

/** Rules that can be checked only if the workspace has no target URL. */
const PAGE_RULES: readonly Rule<ServiceTarget>[] = [
  {
    id: "poll-query",
    says: "Malformed, repeated and unknown query parameters are answered with a 400 that names the parameter.",
    fix: "accept only the parameters `after` and `limit`, each at most once and within its bounds",
    async judge(target) {
      for (const [query, field] of BAD_QUERIES) {
        expectRefused(await target.poll(query), 400, `the query ?${query}`, field);
      }
      return { note: `${BAD_QUERIES.length} cases` };
    },
  },
  {
    id: "poll-query-signed",
    says: "A poll is signed over the query string exactly as it is sent.",
    fix: "compute the HMAC over everything after `?` as received, before decoding",
    async judge(target) {
      const { poll, secrets } = target;
      for (const [query, signed] of [
        ["limit=1&after=latest", "after=latest&limit=1"],
        ["limit=1", ""],
        ["", "limit=1"],
        ["limit=%31", "limit=1"],
      ] as const) {
        const answer = await poll(query, { signature: sign(signed, secrets) });
        expectRefused(answer, 401, `the query ?${query}, signed as ?${signed},`);
      }
      pageOf(await poll("limit=%31%30"), "a query with escapes, signed as sent,", target);
      return undefined;
    },
  },
  {
    id: "page-signed",
    says: "A page is signed over its exact bytes with each active secret (the newest first), and its header Service-Workspace names the workspace.",
    fix: "sign the bytes that are sent; set Service-Signature and Service-Workspace",
    async judge(target) {
      const { poll, secrets, workspace } = target;
      const { headers, body } = await poll("");
      const header = headers[SIGNATURE_HEADER.toLowerCase()]?.toString() ?? "";
      const [timestamp = "", ...entries] = header.split(",v1=");
      for (const [i, secret] of secrets.entries()) {
        const fault = verify(header, body, secret);
        if (fault !== undefined)
          throw new Broken(`checked with secret ${i + 1} only: ${SIGNATURE_FAULT_WORDS[fault]}`);
        const isInPlace = verify(`${timestamp},v1=${entries[i]}`, body, secret) === undefined;
        // If only one secret is given, it may be the older of two active secrets, so the position of its entry is
        // unknown.
        if (secrets.length > 1 && !isInPlace)
          throw new Broken(`v1 entry ${i + 1} is not valid under secret ${i + 1}`);
      }
      if (headers["service-workspace"]?.toString().toLowerCase() !== workspace.toLowerCase()) {
        throw new Broken(`Service-Workspace is ${headers["service-workspace"]?.toString() ?? "missing"}`);
      }
      return secrets.length > 1 ? undefined : { note: "one secret" };
    },
  },
  {
    id: "poll-latest",
    says: "With after=latest, the page has no events, and `next` is the newest cursor. If no event is newer than the sent cursor, `next` is the sent cursor.",
    fix: "answer after=latest with an empty page and the newest cursor; if no event is newer than the sent cursor, set `next` to the sent cursor",
    async judge(target) {
      const latest = pageOf(await target.poll("after=latest"), "after=latest", target);
      if (latest.events.length > 0) throw new Broken("after=latest was answered with events");
      if (latest.next === null) throw new Broken("after=latest was answered with a page whose next is null");
      const after = pageOf(await target.poll(`after=${latest.next}`), "the newest cursor", target);
      if (after.events.length > 0)
        return { unchecked: "an event was published during the check: run the check again" };
      if (after.next !== latest.next)
        throw new Broken(`next is ${after.next}, not the sent cursor ${latest.next}`);
      return undefined;
    },
  },
  {
    id: "held-events",
    says: "Held events have the contract's fields, unique ids and rising sequences, and are ordered oldest first.",
    fix: "compare the events with the contract's tables of envelope fields and message fields",
    async judge(target) {
      const { events, gap } = pageOf(await target.poll(""), "a poll", target);
      if (gap) throw new Broken("gap is true, although the poll had no `after` parameter");
      const ids = new Set<unknown>();
      let last = 0;
      for (const [i, event] of events.entries()) {
        const fault = envelopeFault(event, target.workspace);
        if (fault !== undefined) throw new Broken(`held event ${i + 1}: ${fault}`);
        const { id, sequence } = event as { id: string; sequence: number };
        if (sequence <= last)
          throw new Broken(
            `held event ${i + 1}: its sequence is not above the sequence of the event before it`,
          );
        ids.add(id);
        last = sequence;
      }
      if (ids.size < events.length) throw new Broken("two events have the same id");
      return events.length === 0 ? { unchecked: NO_EVENTS } : { note: `${events.length} events` };
    },
  },
  {
    id: "cursors",
    says: "Pages linked by `next` neither skip nor repeat events, and `hasMore` says whether there is another page.",
    fix: "if the query has limit=n, end the page after n events; set `next` to the cursor of the page's last event",
    async judge(target) {
      const whole = pageOf(await target.poll(`limit=${WALK_MOST}`), "a page", target);
      if (whole.events.length < 2)
        return {
          unchecked:
            'fewer than two events are held: publish some, for example with "Send test event" in the dashboard',
        };
      let after = "";
      for (const [i, wanted] of whole.events.entries()) {
        const page = pageOf(await target.poll(`${after}limit=1`), "a page of one event", target);
        const isLast = i === whole.events.length - 1;
        const [event] = page.events;
        if (page.events.length !== 1 || JSON.stringify(event) !== JSON.stringify(wanted)) {
          throw new Broken(`event ${i + 1}, fetched alone, differs from event ${i + 1} of a larger page`);
        }
        if (!isLast && !page.hasMore) throw new Broken("hasMore is false before the last event");
        if (isLast && page.next !== whole.next)
          throw new Broken("next of the last page differs from next of the larger page");
        after = `after=${page.next}&`;
      }
      return { note: `${whole.events.length} pages` };
    },
  },
];

const NOT_POLLED = "the workspace has a target URL: clear it during the check, or use another workspace";

export const POLL_RULES: readonly Rule<ServiceTarget>[] = [
  MODE_RULE,
  ...PAGE_RULES.map((rule) => ({
    ...rule,
    judge: async (target: ServiceTarget) =>
      (await target.isPolled()) ? rule.judge(target) : { unchecked: NOT_POLLED },
  })),
];

/** Returns the page in the body of an answer. Throws Broken when the answer is not a page. */
function pageOf(answer: Answered, what: string, { workspace }: ServiceTarget): Page {
  if (answer.status !== 200) throw new Broken(`${what} was answered with ${answer.status}, not 200`);
  const json = readJson(answer.body);
  const { events, next, hasMore, gap } = isObject(json) ? json : {};
  const isNext = next === null || (typeof next === "string" && isCursor(next));
  if (!Array.isArray(events) || !isNext || typeof hasMore !== "boolean" || typeof gap !== "boolean") {
    throw new Broken(
      `${what}: in the page of ${workspace}, events, next, hasMore or gap is missing or invalid`,
    );
  }
  if (events.length > PAGE_MAX_EVENTS) throw new Broken(`${what}: the page has ${events.length} events`);
  return { events, next, hasMore, gap };
}
