import { isIP } from "node:net";
import { isLoopback } from "../../runtime/settings";
import { whyNotPublic } from "../../runtime/public-address";
import { fail, ok, skipped, warn, type Finding } from "./finding";

// Checks whether edges learn their clients' addresses from proxies. The check judges what an edge saw, and does no I/O.

const CHECK = "edge-address";
const PAGE = "docs/install.md#behind-several-proxies";

/** An address that is reserved for documentation (RFC 5737), so no real client uses it. */
export const INVENTED_ADDRESS = "198.51.100.77";

export interface SeenAddresses {
  /** The client address that the edge saw for a normal request; empty if no core received the request. */
  readonly seen: string;
  /** The client address that the edge saw for a request whose X-Forwarded-For contains `INVENTED_ADDRESS`. */
  readonly seenInvented: string;
  /** This machine's address on the connection. */
  readonly local: string;
  /** The address to which the connection was made. */
  readonly remote: string;
}

/**
 * Judges whether the edge knows the addresses of its clients. The rate limit for each address depends on these
 * addresses.
 */
export function judgeAddresses({ seen, seenInvented, local, remote }: SeenAddresses): Finding {
  if (seen === "")
    return skipped(CHECK, "no core that was asked received the request: the edge uses another core");
  if (isLoopback(local)) {
    return skipped(CHECK, "the connection is within this machine: run the command on another machine");
  }
  if (seenInvented === INVENTED_ADDRESS) {
    const says = "an edge believes an address that the client writes into X-Forwarded-For";
    const advice = {
      fix: "let the proxy replace the header or append its peer's address, and list only proxies in TRUST_PROXY; ignore this line if TRUST_PROXY contains this machine",
      page: PAGE,
    };
    return isPublic(local) ? fail(CHECK, says, advice) : warn(CHECK, says, advice);
  }
  if (seen === local || isPublic(seen)) return ok(CHECK, `an edge sees the address of its client: ${seen}`);
  const advice = {
    fix: "add the proxy to TRUST_PROXY of the edge, and let the proxy send X-Forwarded-For",
    page: PAGE,
  };
  if (isLoopback(seen) || isPublic(remote)) {
    return fail(
      CHECK,
      `an edge takes ${seen}, the address of a proxy, for its client's: all bridges share one rate limit`,
      advice,
    );
  }
  return warn(
    CHECK,
    `an edge sees ${seen}, but this machine connects from ${local}: if ${seen} is a proxy, all bridges share one rate limit`,
    advice,
  );
}

function isPublic(address: string): boolean {
  return isIP(address) !== 0 && whyNotPublic(address) === undefined;
}
