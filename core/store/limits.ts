import { createHash } from "node:crypto";
import { OPERATOR_TEST_LIMITS, type Limits } from "../domain/bounds";
import type { OperatorTestLimits, RequestLimits, RetryAfterSeconds } from "../ports/limits";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asList, asNumber } from "./redis/reply";

const MICROSECONDS_PER_SECOND = 1_000_000;
const BATCH_MAX = 256;

/** Converts a wait in µs to whole seconds, rounded up, and at least 1. */
export function retryAfterSeconds(waitUs: number): number {
  return Math.max(1, Math.ceil(waitUs / MICROSECONDS_PER_SECOND));
}

/**
 * Returns the key of an address's limiter. If all keys are on one server, the functions of all shards use the limiter
 * with this key.
 */
export function addressKey(keys: Keys, address: string): string {
  return `${keys.prefixOf(address)}:ip:${address}`;
}

export function createRequestLimits(functions: Functions, keys: Keys, limits: Limits): RequestLimits {
  const { one: admit } = batchFunction<string, { readonly waitUs: number }>(functions, keys, {
    name: "admit",
    most: BATCH_MAX,
    toArguments: (addresses) => [String(limits.address), ...addresses],
    toOutputs: (reply) => asList(reply).map((waitUs) => ({ waitUs: asNumber(waitUs) })),
  });
  return {
    async admitAddress(address): Promise<RetryAfterSeconds> {
      const { waitUs } = await admit(keys.shard(address), address);
      return waitUs === 0 ? undefined : retryAfterSeconds(waitUs);
    },
  };
}

type AddressLimited = { readonly outcome: "address-limited"; readonly retryAfterSeconds: number };

/**
 * Returns a function that performs check 2 in a separate call to the store, and calls `next` if the item passes. On a
 * cluster, the limiter of an address may be on another master than the keys of a workspace.
 */
export function checkAddressFirst<Item extends { readonly address?: string | undefined }, Output>(
  limits: RequestLimits,
  next: (item: Item) => Promise<Output>,
): (item: Item) => Promise<Output | AddressLimited> {
  return async (item) => {
    const retryAfterSeconds =
      item.address === undefined ? undefined : await limits.admitAddress(item.address);
    if (retryAfterSeconds !== undefined) return { outcome: "address-limited", retryAfterSeconds };
    return next({ ...item, address: undefined });
  };
}

/**
 * The name under which tests of the installation's own addresses are counted, instead of a workspace id. No workspace
 * has this id.
 */
const INSTALLATION = "installation";
const TEST_LIMITS = OPERATOR_TEST_LIMITS.flatMap(({ max, seconds }) => [String(max), String(seconds)]);

export function createOperatorTestLimits(functions: Functions, keys: Keys): OperatorTestLimits {
  async function admit(name: string): Promise<number | undefined> {
    const waitUs = asNumber(await functions.call("admit_test", keys.prefixOf(name), [name, ...TEST_LIMITS]));
    return waitUs === 0 ? undefined : retryAfterSeconds(waitUs);
  }
  return {
    async admit(workspaceId, email) {
      const ofWorkspace = await admit(workspaceId ?? INSTALLATION);
      if (ofWorkspace !== undefined) {
        const of = workspaceId === undefined ? "the installation's addresses" : "the workspace's address";
        return { of, afterSeconds: ofWorkspace };
      }
      // The key contains only a digest of the address, because an address can be long.
      const ofEmail =
        email === undefined
          ? undefined
          : await admit(createHash("sha256").update(email.toLowerCase()).digest("hex"));
      return ofEmail === undefined ? undefined : { of: "this email address", afterSeconds: ofEmail };
    },
  };
}
