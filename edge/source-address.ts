import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * The sender's address in canonical form: v4-mapped addresses as IPv4, IPv6
 * compressed, without a zone. What a trusted proxy forwards and is no address
 * leaves the proxy's own to count by. A sender that has hung up has none left.
 *
 * @param claimed by the socket, or by a proxy that is trusted
 * @param socket the address of the connection
 */
export function canonicalAddress(claimed: string | undefined, socket: string | undefined): string {
  // Canonical as it is, and by far the most common.
  if (claimed !== undefined && isIPv4(claimed)) return claimed;
  for (const address of [claimed, socket]) {
    const bare = (address ?? "").replace(/%.*$/, "");
    if (ipaddr.isValid(bare)) return ipaddr.process(bare).toString();
  }
  return "unknown";
}
