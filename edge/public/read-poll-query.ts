import { CURSOR_FORM } from "../../contract/forms";
import { PAGE_MAX_EVENTS } from "../../contract/numbers";
import type { PollQuery, PollRequest } from "../../proto/gen/chatbridge/v1/bridge";

const KNOWN: readonly string[] = ["after", "limit"];
const FIELD_NAME_MAX = 256;

type Reading = NonNullable<PollRequest["reading"]>;

/**
 * Returns the query of a poll, or the query's first fault. Known parameters are checked first, in the order of the
 * contract's table, then unknown parameters, in the order in which they were sent.
 */
export function readPollQuery(queryString: string): Reading {
  const sent = new URLSearchParams(queryString);
  for (const name of KNOWN) {
    if (sent.getAll(name).length > 1) return violation(name, "must not be repeated");
    const value = sent.get(name);
    if (value === null) continue;
    if (name === "after" && value !== "latest" && !CURSOR_FORM.test(value)) {
      return violation(name, "must be latest, or a cursor from next of an earlier page");
    }
    if (name === "limit" && !isLimit(value))
      return violation(name, `must be an integer from 1 to ${PAGE_MAX_EVENTS}`);
  }
  for (const name of sent.keys()) {
    if (!KNOWN.includes(name)) return violation(name.slice(0, FIELD_NAME_MAX), "is not a known parameter");
  }
  const limit = Number(sent.get("limit") ?? PAGE_MAX_EVENTS);
  return { $case: "query", value: { from: readFrom(sent.get("after")), limit } };
}

function isLimit(text: string): boolean {
  return /^[0-9]{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= PAGE_MAX_EVENTS;
}

function readFrom(after: string | null): PollQuery["from"] {
  if (after === null) return undefined;
  return after === "latest" ? { $case: "latest", value: true } : { $case: "after", value: after };
}

function violation(field: string, message: string): Reading {
  return { $case: "violation", value: { field, message: `${field} ${message}` } };
}
