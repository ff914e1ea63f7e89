import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * The sender's address in canonical form: v4-mapped addresses as IPv4, and IPv6
 * compressed, without a zone. When a trusted proxy forwards something that is not an
 * address, the proxy's own address is used. Returns "unknown" for a sender that has
 * disconnected, because its socket has no address.
 *
 * @param claimed the address that the socket or a trusted proxy gives
 * @param socket the address of the connection
 */
export function canonicalAddress(claimed: string | undefined, socket: string | undefined): string {
  // IPv4 is already canonical, and by far the most common.
  if (claimed !== undefined && isIPv4(claimed)) return claimed;
  for (const address of [claimed, socket]) {
    const bare = (address ?? "").replace(/%.*$/, "");
    if (ipaddr.isValid(bare)) return ipaddr.process(bare).toString();
  }
  return "unknown";
}
