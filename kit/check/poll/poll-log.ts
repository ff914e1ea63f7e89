import { createHmac } from "node:crypto";
import { CURSOR_FORM, SIGNATURE_FORM } from "../../../contract/forms";
import { PAGE_MAX_EVENTS, TIMESTAMP_TOLERANCE_SECONDS } from "../../../contract/numbers";
import { SIGNATURE_FAULT_WORDS, verify, type SignatureFault } from "../../signature";
import { keyMistakes } from "../bad-signatures";
import { Broken } from "../rule";

/** A poll, as the fake service received it. */
export interface PollRequest {
  /** Path and query, as sent. */
  readonly target: string;
  /** Everything after the `?`, as sent; empty if there is no query. */
  readonly query: string;
  /** The parameters of the query, decoded, in order. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** Value of the parameter `after`; undefined if the poll has no `after`. */
  readonly after: string | undefined;
  /** Maximum number of events on the page. */
  readonly limit: number;
  /** The header Service-Signature. */
  readonly signature: string | undefined;
  /** Time of arrival on the clock of `performance`, ms. */
  readonly atMs: number;
  /** Time of arrival, ms since the epoch. */
  readonly nowMs: number;
}

/** Returns the values of a parameter. */
export function valuesOf({ parameters }: Pick<PollRequest, "parameters">, name: string): readonly string[] {
  return parameters.filter(([each]) => each === name).map(([, value]) => value);
}

/** Returns a phrase about the `after` of a poll, which completes e.g. "the next poll had …". */
export function afterOf({ after }: { readonly after: string | undefined }): string {
  return after === undefined ? "no `after`" : `after=${JSON.stringify(after)}`;
}

/** Maximum seconds by which the lag of the bridge's signed timestamps may grow during the check. */
const DRIFT_MOST_SECONDS = 10;
const KNOWN: ReadonlySet<string> = new Set(["after", "limit"]);
const LIMIT_FORM = /^[0-9]{1,3}$/;

/** Judges all polls, and keeps the first fault found in each part: the query, the signature and the time. */
export class PollLog {
  readonly #secrets: readonly string[];
  readonly #found: { query?: Broken; signature?: Broken; time?: Broken | undefined } = {};
  #count = 0;
  #leastLag = Infinity;

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** Judges a poll, and returns the fault of its signature. */
  add(poll: PollRequest): SignatureFinding | undefined {
    const count = ++this.#count;
    const found = this.#found;
    const finding = signatureFault(poll, this.#secrets);
    const fault = queryFault(poll, count === 1);
    if (fault !== undefined) {
      found.query ??= new Broken(`the query of poll ${count} was ?${poll.query}: ${fault}`);
    }
    found.time ??= this.#timeFault(poll);
    if (finding !== undefined && finding.fault !== "stale") {
      const words = `poll ${count}, with the query ?${poll.query}: ${finding.found}`;
      found.signature ??= new Broken(words, undefined, { cause: finding.cause });
    }
    return finding;
  }

  /** Throws Broken if `part` was faulty in any poll. Returns the number of polls. */
  judge(part: "query" | "signature" | "time"): { readonly note: string } {
    const broken = this.#found[part];
    if (broken !== undefined) throw broken;
    return { note: `${this.#count} polls` };
  }

  #timeFault({ signature, nowMs }: PollRequest): Broken | undefined {
    const t = Number(SIGNATURE_FORM.exec(signature ?? "")?.[1]);
    if (Number.isNaN(t)) return undefined;
    const lag = nowMs / 1000 - t;
    this.#leastLag = Math.min(this.#leastLag, lag);
    if (Math.abs(lag) > TIMESTAMP_TOLERANCE_SECONDS) {
      return new Broken(`poll ${this.#count} was signed ${Math.round(lag)} seconds before it arrived`);
    }
    if (lag - this.#leastLag <= DRIFT_MOST_SECONDS) return undefined;
    const words = `the timestamp of poll ${this.#count} was ${Math.round(lag)} seconds old`;
    return new Broken(`${words}, and that of an earlier poll ${Math.round(this.#leastLag)} seconds`);
  }
}

/**
 * Returns the fault of a query. Checks `after` only in the first poll, because the rules about cursors check it in all
 * other polls.
 */
function queryFault(poll: PollRequest, isFirst: boolean): string | undefined {
  const names = poll.parameters.map(([name]) => name);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) return `the parameter ${JSON.stringify(unknown)} is unknown`;
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined) return `the parameter ${repeated} is repeated`;
  const [limit] = valuesOf(poll, "limit");
  if (
    limit !== undefined &&
    !(LIMIT_FORM.test(limit) && Number(limit) >= 1 && Number(limit) <= PAGE_MAX_EVENTS)
  ) {
    return `limit must be an integer from 1 to ${PAGE_MAX_EVENTS}`;
  }
  const isMalformed = poll.after !== undefined && poll.after !== "latest" && !CURSOR_FORM.test(poll.after);
  return isFirst && isMalformed
    ? "after is neither a cursor nor latest; omit it if there is no cursor"
    : undefined;
}

/** The fault of a poll's signature. */
export interface SignatureFinding {
  readonly fault: SignatureFault;
  /** The fault, as a predicate without a subject. */
  readonly found: string;
  /** The probable cause. */
  readonly cause?: string;
  /** Whether the bridge signed with the right secret. If not, the bridge cannot verify pages either. */
  readonly isKeyRight: boolean;
}

/** Texts that bridges sign by mistake, instead of `<t>.<query string>`. */
const TEXTS: readonly (readonly [what: string, text: (t: string, poll: PollRequest) => string])[] = [
  ["an empty string instead of the query string", (t) => `${t}.`],
  ["the query string with the question mark before it", (t, { query }) => `${t}.?${query}`],
  ["the path and the query string", (t, { target }) => `${t}.${target}`],
  ["the path alone", (t, { target }) => `${t}.${target.replace(/\?.*/, "")}`],
  ["the query string after decoding", (t, { parameters }) => `${t}.${plainQuery(parameters)}`],
  ["only the parameter `after`", (t, { after }) => `${t}.after=${after ?? ""}`],
  ["the query string without the timestamp", (_t, { query }) => query],
];

/** Returns the fault of a poll's signature, with the probable cause; undefined for a valid signature. */
function signatureFault(poll: PollRequest, secrets: readonly string[]): SignatureFinding | undefined {
  const fault = verify(poll.signature, poll.query, secrets, poll.nowMs);
  if (fault === undefined) return undefined;
  const [, t = "", entries = ""] = SIGNATURE_FORM.exec(poll.signature ?? "") ?? [];
  const hasDigest = (key: string | Buffer, text: string) =>
    entries.includes(`v1=${createHmac("sha256", key).update(text).digest("hex")}`);
  const found = SIGNATURE_FAULT_WORDS[fault];
  if (fault === "stale") {
    const seconds = Math.round(Number(t) - poll.nowMs / 1000);
    const cause =
      t.length > 11
        ? "t is in milliseconds, not in seconds"
        : `the bridge's clock is ${Math.abs(seconds)} seconds ${seconds < 0 ? "behind" : "ahead of"} this machine's clock`;
    return { fault, found, cause, isKeyRight: true };
  }
  for (const [what, textOf] of TEXTS) {
    if (secrets.some((secret) => hasDigest(secret, textOf(t, poll)))) {
      return { fault, found, cause: `the signature covers ${what}`, isKeyRight: true };
    }
  }
  for (const { as, key } of secrets.flatMap(keyMistakes)) {
    if (hasDigest(key, `${t}.${poll.query}`)) {
      return { fault, found, cause: `the digest is computed with ${as}`, isKeyRight: false };
    }
  }
  return { fault, found, isKeyRight: false };
}

function plainQuery(parameters: PollRequest["parameters"]): string {
  return parameters.map(([name, value]) => `${name}=${value}`).join("&");
}
