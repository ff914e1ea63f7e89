import type { Counts } from "../tally";
import type { TenantClient } from "../tenant-client";
import type { Place, Tenant } from "../tenant";

/** A tenant that uses as much of the service as it can get. */
export interface Attacker {
  readonly place: Place;
  readonly tenant: Tenant;
  readonly client: TenantClient;
  /** Id of another tenant's workspace, which the attacker knows. */
  readonly victimId: string;
  /** URL of a bridge that accepts connections but never answers. */
  readonly deadUrl: string;
  /** Aborted when the attack must stop. */
  readonly signal: AbortSignal;
}

/** How many attempts of an attack succeeded, and how many were refused. */
export interface Taken extends Pick<Counts, "accepted" | "refused"> {
  /** Frees the resources that the attack still uses, e.g. closes its streams. */
  readonly release?: () => Promise<void> | void;
}

/**
 * An attack makes a limited number of attempts. It resolves when all attempts are answered or `signal` is aborted.
 * Streams, sessions and connections stay open until `release` is called.
 */
export type Attack = (attacker: Attacker) => Promise<Taken>;
