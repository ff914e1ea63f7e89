import { LRUCache } from "lru-cache";

/** Maximum number of probes that a core remembers. A probe takes about 200 bytes. */
const PROBES_MAX = 256;
/** Milliseconds for which core remembers a probe. */
const REMEMBER_MS = 30_000;

/**
 * The probes with which operators find out which client address an edge takes from a proxy. A probe is a poll of a
 * workspace that does not exist, with an id that an operator has announced. So core never remembers the address of a
 * bridge.
 */
export type AddressProbes = ReturnType<typeof createAddressProbes>;

export function createAddressProbes() {
  /** The address of each announced probe; empty until the probe arrives. */
  const probes = new LRUCache<string, string>({ max: PROBES_MAX, ttl: REMEMBER_MS });
  return {
    /**
     * Announces a probe. If it was announced before, returns the address from which it came. Returns "" if the probe
     * has not arrived.
     */
    announce(id: string): string {
      const known = probes.get(id);
      if (known === undefined) probes.set(id, "");
      return known ?? "";
    },
    /** Notes the address of a request for a workspace that does not exist, if an operator has announced the id. */
    note(id: string, address: string): void {
      if (probes.get(id) === "") probes.set(id, address);
    },
  };
}
