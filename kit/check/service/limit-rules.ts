import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ADDRESS_REQUESTS_PER_SECOND, WORKSPACE_REQUESTS_PER_SECOND } from "../../../contract/numbers";
import type { Reply } from "../http-client";
import { Broken, type Rule } from "../rule";
import { expectRefused, type Answered, type ServiceRequest, type ServiceTarget } from "./service-target";

/** Sizes of the bursts, in multiples of the limit. A burst exceeds the limit only if it is sent fast enough. */
const BURSTS = [2, 4, 8, 16];
const QUIET_MS = 1_100;
/**
 * Maximum number of requests per second that the check attributes to other clients at this address, such as a bridge
 * that polls.
 */
const OF_OTHERS_MAX = 10;

export const LIMIT_RULES: readonly Rule<ServiceTarget>[] = [
  {
    id: "workspace-limit",
    says: `At most ${WORKSPACE_REQUESTS_PER_SECOND} signed requests per second are let through for a workspace; further requests are answered with 429.`,
    fix: "count the signed requests of each workspace, including polls, and answer further requests with 429 and Retry-After",
    judge: (target) =>
      goOver(target, WORKSPACE_REQUESTS_PER_SECOND, 0, { method: "GET", raw: "after=latest" }),
  },
  {
    id: "address-limit",
    says: `At most ${ADDRESS_REQUESTS_PER_SECOND} requests per second are let through from an address, signed or not; further requests are answered with 429.`,
    fix: "before any lookup, count all requests of each source address, and answer further requests with 429 and Retry-After",
    judge: (target) =>
      goOver(target, ADDRESS_REQUESTS_PER_SECOND, OF_OTHERS_MAX, {
        method: "GET",
        raw: "",
        signature: null,
        workspace: randomUUID(),
      }),
  },
];

async function goOver(
  { once, withLimits }: ServiceTarget,
  limit: number,
  ofOthers: number,
  request: ServiceRequest,
) {
  if (!withLimits) return { unchecked: "this check puts load on the service: give --limits to run it" };
  let fastest = 0;
  for (const times of BURSTS) {
    // After this pause, earlier requests no longer count towards the limit.
    await sleep(QUIET_MS);
    const size = limit * times;
    const begun = performance.now();
    const replies = await Promise.all(Array.from({ length: size }, () => once(request)));
    const seconds = (performance.now() - begun) / 1000;
    const limited = replies.filter(isLimited);
    fastest = Math.max(fastest, Math.round(size / seconds));
    if (limited.length > 0) {
      judgeBurst(replies, limited, limit, ofOthers, seconds);
      return { note: `${size - limited.length} of ${size} were let through in ${seconds.toFixed(1)} s` };
    }
    if (size > limit * (2 + seconds))
      throw new Broken(`all ${size} requests in ${seconds.toFixed(1)} s were let through`);
  }
  return { unchecked: `only ${fastest} requests a second were sent: too few to exceed the limit` };
}

function isLimited(reply: Reply): reply is Answered {
  return "status" in reply && reply.status === 429;
}

/**
 * Throws Broken if the service let through more requests in `seconds` than `limit` allows, or fewer than `limit` minus
 * `ofOthers`. Also throws Broken if a rejection does not have the contract's format. `ofOthers` is the assumed maximum
 * of requests per second from other clients.
 */
function judgeBurst(
  replies: readonly Reply[],
  limited: readonly Answered[],
  limit: number,
  ofOthers: number,
  seconds: number,
): void {
  for (const answer of limited) {
    expectRefused(answer, 429, "a request over the limit");
    const retryAfter = answer.headers["retry-after"] ?? "";
    if (!/^[1-9]\d*$/.test(retryAfter))
      throw new Broken(`Retry-After of a 429 is "${retryAfter}", not a whole number of seconds`);
  }
  const passed = replies.length - limited.length;
  const most = limit * (2 + Math.floor(seconds));
  if (passed > most)
    throw new Broken(
      `${passed} requests were let through in ${seconds.toFixed(1)} s: the limit allows ${most} at most`,
    );
  if (passed < limit - ofOthers)
    throw new Broken(`only ${passed} requests were let through, although the limit is ${limit}`);
}
