import { LRUCache } from "lru-cache";
import { ADDRESS_REQUESTS_PER_SECOND, NETWORK_REQUESTS_PER_SECOND } from "../../contract/numbers";
import { EdgeRefusal, Refusal, type PollRequest, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import { networkOf } from "../../runtime/limit-connections";
import type { RefusalReports } from "./refusal-reports";
import type { CoreClient } from "../lane/core-client";

export type AddressShield = ReturnType<typeof createAddressShield>;

const SECOND_MS = 1_000;
/** Maximum number of addresses with a `Ring`, each of which takes up to 4 KB. */
const ADDRESSES_MAX = 5_000;
const NETWORKS_MAX = 5_000;

/** Returns the milliseconds until a request that was sent at `sentAt` is one second old. */
function waitMs(sentAt: number, now: number): number {
  return sentAt + SECOND_MS - now;
}

/**
 * For one address, the times at which the edge sent its most recent admitted requests to core, in the order of core's
 * answers. In a full ring, the time at index `at` belongs to the request that core answered earliest.
 */
interface Ring {
  readonly times: number[];
  at: number;
}

/**
 * Lets the edge refuse requests from an address that is over its limit (check 2 in docs/checks.md), so that the excess
 * requests of a flood do not reach core. The rate limits themselves are counted in Redis, exactly, for all edges
 * together (`limiters.lua`). Only the limit of an IPv6 /64 network is counted by each edge alone. All times are values
 * of `performance.now()`.
 *
 * The shield knows which requests this edge sent in the last second and core admitted. The shield refuses a request
 * only if the admitted requests from the same address have reached the limit. The shield also refuses requests from an
 * IPv6 /64 network that has already sent NETWORK_REQUESTS_PER_SECOND requests to this edge in the current second. Core
 * decides on all other requests. If there are too many addresses, the shield drops the rings of some addresses. Core
 * then gets more calls, but does not admit more requests.
 */
export function createAddressShield() {
  const rings = new LRUCache<string, Ring>({ max: ADDRESSES_MAX });
  /** The number of requests of each IPv6 network in the current second. */
  const networks = new LRUCache<string, { second: number; requests: number }>({ max: NETWORKS_MAX });
  let refusals = 0;

  /** Counts a request. Returns whether the IPv6 network of `address` has already reached its limit in this second. */
  function isOfFullNetwork(address: string, now: number): boolean {
    if (!address.includes(":")) return false;
    const key = networkOf(address);
    const second = Math.floor(now / SECOND_MS);
    let network = networks.get(key);
    if (network?.second !== second) {
      network = { second, requests: 0 };
      networks.set(key, network);
    }
    if (network.requests >= NETWORK_REQUESTS_PER_SECOND) return true;
    network.requests += 1;
    return false;
  }

  function secondsUntilAdmitted(address: string, now: number): number | undefined {
    const ring = rings.get(address);
    if (ring === undefined || ring.times.length < ADDRESS_REQUESTS_PER_SECOND) return undefined;
    if (waitMs(ring.times[ring.at] ?? 0, now) <= 0) return undefined;
    // The times are in the order of core's answers, so the time at index `at` is not always the earliest.
    const oldestWaitMs = waitMs(Math.min(...ring.times), now);
    return oldestWaitMs <= 0 ? undefined : Math.ceil(oldestWaitMs / SECOND_MS);
  }

  return {
    /** Number of requests refused so far. */
    get refusals() {
      return refusals;
    },
    /** Returns the seconds until the address may retry; undefined if the shield does not refuse the request. */
    refuse(address: string, now: number): number | undefined {
      const waitSeconds =
        secondsUntilAdmitted(address, now) ?? (isOfFullNetwork(address, now) ? 1 : undefined);
      if (waitSeconds !== undefined) refusals += 1;
      return waitSeconds;
    },
    /** Records that core admitted a request that the edge sent at `sentAt`. */
    admitted(address: string, sentAt: number): void {
      let ring = rings.get(address);
      if (ring === undefined) {
        ring = { times: [], at: 0 };
        rings.set(address, ring);
      }
      if (ring.times.length < ADDRESS_REQUESTS_PER_SECOND) {
        ring.times.push(sentAt);
        return;
      }
      ring.times[ring.at] = sentAt;
      ring.at = (ring.at + 1) % ADDRESS_REQUESTS_PER_SECOND;
    },
  };
}

/** The parts of a request that the shield needs. */
type ShieldedRequest = Pick<PollRequest, "workspaceId" | "sourceAddress">;

/**
 * Returns a client that answers the requests that the shield refuses, and calls core for all other requests.
 * @param refusals counts the requests that the shield refuses
 */
export function shieldCore(
  core: CoreClient,
  shield: AddressShield,
  refusals?: Pick<RefusalReports, "add">,
): CoreClient {
  async function ask<Response extends { outcome?: { $case: string; value: unknown } | undefined }>(
    request: ShieldedRequest,
    isPoll: boolean,
    call: () => Promise<Response>,
  ): Promise<Response> {
    const { sourceAddress: address } = request;
    const sentAt = performance.now();
    const retryAfterSeconds = shield.refuse(address, sentAt);
    if (retryAfterSeconds !== undefined) {
      refusals?.add(request.workspaceId, EdgeRefusal.ADDRESS_LIMIT, address, () => ({ isPoll }));
      const value: Refused = { refusal: Refusal.ADDRESS_LIMIT, violation: undefined, retryAfterSeconds };
      return { outcome: { $case: "refused", value } } as Response;
    }
    const response = await call();
    const { outcome } = response;
    const refusal = outcome?.$case === "refused" ? (outcome.value as Refused).refusal : undefined;
    if (refusal !== Refusal.ADDRESS_LIMIT) shield.admitted(address, sentAt);
    return response;
  }

  return {
    ...core,
    receive: (request, traceparent) => ask(request, false, () => core.receive(request, traceparent)),
    poll: (request, traceparent) => ask(request, true, () => core.poll(request, traceparent)),
  };
}
