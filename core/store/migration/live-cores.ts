import { setTimeout as sleep } from "node:timers/promises";
import { CORES_GROUP, LEASE_MS } from "../../ports/leases";
import type { Keys } from "../keys";
import type { Redis } from "../redis/redis";
import { asList, asNumber, asText } from "../redis/reply";

/** Thrown when a core of any release uses the store, or may still use it. */
export class CoresAlive extends Error {}

interface Sighting {
  /** The time in ms at which each core last reported that it is alive, keyed by the core's name. */
  readonly heard: ReadonlyMap<string, number>;
  /** Number of shards on which a core holds the lease. */
  readonly leases: number;
  /** The time of Redis's clock, in ms. */
  readonly nowMs: number;
}

const LOOK_EVERY_MS = 200;
/** Maximum milliseconds to wait until crashed cores and their leases have expired. */
const WAIT_MAX_MS = 2 * LEASE_MS + 1_000;

/**
 * Resolves when no core uses the store. Waits until the leases of crashed cores have expired. Throws `CoresAlive` as soon
 * as a core reports that it is alive.
 *
 * @param onWait called once if a core was recently alive
 */
export async function untilNoCores(
  redis: Redis,
  keys: Keys,
  onWait: () => void = () => undefined,
): Promise<void> {
  const began = performance.now();
  let first: Sighting | undefined;
  for (;;) {
    const seen = await look(redis, keys);
    if (seen.heard.size === 0 && seen.leases === 0) return;
    if (first === undefined) onWait();
    const alive = first === undefined ? [] : heardSince(first, seen);
    if (alive.length > 0 || performance.now() - began > WAIT_MAX_MS) throw new CoresAlive(describe(seen));
    first ??= seen;
    await sleep(LOOK_EVERY_MS);
  }
}

/** Throws `CoresAlive` when a core uses the store now. */
export async function checkNoCores(redis: Redis, keys: Keys): Promise<void> {
  const seen = await look(redis, keys);
  if (seen.heard.size > 0 || seen.leases > 0) throw new CoresAlive(describe(seen));
}

/** Returns the names of the cores that have reported since the first sighting. */
function heardSince(first: Sighting, { heard }: Sighting): readonly string[] {
  return [...heard].flatMap(([name, at]) => (first.heard.get(name) === at ? [] : [name]));
}

function describe({ heard, leases, nowMs }: Sighting): string {
  const ages = [...heard.values()].map((at) => `${((nowMs - at) / 1_000).toFixed(1)} s`);
  const cores = heard.size === 1 ? "1 core uses" : `${heard.size} cores use`;
  const signs = ages.length === 0 ? "" : ` (last sign of life ${ages.join(", ")} ago)`;
  return `${cores} this Redis${signs}, and ${leases} of its shards are in use: stop all cores of all releases, and run the migration again`;
}

async function look(redis: Redis, keys: Keys): Promise<Sighting> {
  const members = `${keys.prefixOf(CORES_GROUP)}:members:${CORES_GROUP}`;
  const leaseKeys = keys.prefixes.map((prefix) => `${prefix}:lease:${CORES_GROUP}`);
  const [all, time, ...leases] = await Promise.all([
    redis.command(members, ["HGETALL", members]),
    redis.command(members, ["TIME"]),
    ...leaseKeys.map((key) => redis.command(key, ["EXISTS", key])),
  ]);
  const nowMs = asNumber(asList(time)[0]) * 1_000;
  const words = asList(all).map(asText);
  const heard = new Map<string, number>();
  for (let i = 0; i < words.length; i += 2) {
    // In each release, the value of a member ends with the time of its last report.
    const at = Number(/\d+$/.exec(words[i + 1] ?? "")?.[0] ?? 0);
    if (nowMs - at <= LEASE_MS) heard.set(words[i] ?? "", at);
  }
  return { heard, leases: leases.filter((lease) => asNumber(lease) === 1).length, nowMs };
}
