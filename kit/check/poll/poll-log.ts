import { CURSOR_FORM, SIGNATURE_FORM } from "../../../contract/forms";
import { PAGE_MAX_EVENTS, TIMESTAMP_TOLERANCE_SECONDS } from "../../../contract/numbers";
import { Broken } from "../rule";
import { valuesOf, type PollRequest } from "./poll-request";
import { signatureFault, type SignatureFinding } from "./poll-signature";

/** Seconds by which the lag of a signed timestamp may grow during the check. */
const DRIFT_MOST_SECONDS = 10;
const KNOWN: ReadonlySet<string> = new Set(["after", "limit"]);
const LIMIT_FORM = /^[0-9]{1,3}$/;

/** The faults of all polls so far: the first fault of each part of a poll. */
export interface PollLog {
  /** Judges a poll, and returns the fault of its signature. */
  add(poll: PollRequest): SignatureFinding | undefined;
  /** Throws Broken if this part of any poll was faulty. Returns the number of polls. */
  judge(part: "query" | "signature" | "time"): { readonly note: string };
}

export function createPollLog(secrets: readonly string[]): PollLog {
  const found: { query?: Broken; signature?: Broken; time?: Broken | undefined } = {};
  let count = 0;
  let leastLag = Infinity;

  function judgeTime({ signature, nowMs }: PollRequest): Broken | undefined {
    const t = Number(SIGNATURE_FORM.exec(signature ?? "")?.[1]);
    if (Number.isNaN(t)) return undefined;
    const lag = nowMs / 1000 - t;
    leastLag = Math.min(leastLag, lag);
    if (Math.abs(lag) > TIMESTAMP_TOLERANCE_SECONDS) {
      return new Broken(`poll ${count} was signed ${Math.round(lag)} seconds before it arrived`);
    }
    if (lag - leastLag <= DRIFT_MOST_SECONDS) return undefined;
    const words = `the timestamp of poll ${count} was ${Math.round(lag)} seconds old`;
    return new Broken(`${words}, and that of an earlier poll ${Math.round(leastLag)} seconds`);
  }

  return {
    add(poll) {
      count++;
      const finding = signatureFault(poll, secrets);
      const fault = queryFault(poll, count === 1);
      if (fault !== undefined)
        found.query ??= new Broken(`the query of poll ${count} was ?${poll.query}: ${fault}`);
      found.time ??= judgeTime(poll);
      if (finding !== undefined && finding.fault !== "stale") {
        const { cause } = finding;
        found.signature ??= new Broken(
          `poll ${count}, with the query ?${poll.query}: ${finding.found}`,
          undefined,
          {
            cause,
          },
        );
      }
      return finding;
    },
    judge(part) {
      const broken = found[part];
      if (broken !== undefined) throw broken;
      return { note: `${count} polls` };
    },
  };
}

/** Returns the fault of a query. The rules about cursors judge the `after` of all polls but the first. */
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
