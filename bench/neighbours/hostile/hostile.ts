import type { Counts } from "../tally";
import type { TenantClient } from "../tenant-client";
import type { Place, Tenant } from "../tenant";

/** A tenant who takes as much as the service gives. */
export interface Attacker {
  readonly place: Place;
  readonly tenant: Tenant;
  readonly client: TenantClient;
  /** A workspace of another tenant, of which the attacker knows the id. */
  readonly victimId: string;
  /** URL of a bridge that accepts connections, and never answers. */
  readonly deadUrl: string;
  /** Aborted when the attack must end. */
  readonly signal: AbortSignal;
}

/** What an attack got, and did not get. */
export interface Taken extends Pick<Counts, "accepted" | "refused"> {
  /** Gives back what the attack still occupies, e.g. open streams. */
  readonly release?: () => Promise<void> | void;
}

/**
 * Makes a limited number of attempts, and resolves when all were answered or `signal` is aborted. Keeps streams, sessions
 * and connections open until `release` is called.
 */
export type Attack = (attacker: Attacker) => Promise<Taken>;
