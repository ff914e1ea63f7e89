import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Returns the sender's address in canonical form: IPv4-mapped addresses as IPv4, and other IPv6 addresses compressed,
 * without a zone. When a trusted proxy forwards a value that is not an address, the result is the proxy's own address.
 * Returns "unknown" when the sender has disconnected, because the socket then has no address.
 *
 * @param claimed the sender's address according to a trusted proxy (`X-Forwarded-For`, `TRUST_PROXY`) or the socket
 * @param socket the address of the connection
 */
export function canonicalAddress(claimed: string | undefined, socket: string | undefined): string {
  // An IPv4 address is already canonical, and is by far the most common case.
  if (claimed !== undefined && isIPv4(claimed)) return claimed;
  for (const address of [claimed, socket]) {
    const bare = (address ?? "").replace(/%.*$/, "");
    if (ipaddr.isValid(bare)) return ipaddr.process(bare).toString();
  }
  return "unknown";
}
