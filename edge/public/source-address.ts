import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";
import proxyAddr from "@fastify/proxy-addr";
import ipaddr from "ipaddr.js";
import { LRUCache } from "lru-cache";

/** Returns whether a proxy at `address` is trusted to name the sender in `X-Forwarded-For`. */
export type IsTrusted = (address: string, hop: number) => boolean;

/** Maximum number of remembered addresses, and maximum characters of a remembered address. */
const REMEMBERED_MAX = 1_000;
const REMEMBERED_CHARACTERS_MAX = 45;

/**
 * Returns a function that distinguishes the proxies in `TRUST_PROXY` from other senders; undefined if `TRUST_PROXY`
 * lists no proxies. The function remembers its results, because most of the check's time is spent on parsing the
 * address.
 */
export function createTrust(trustProxy: readonly string[]): IsTrusted | undefined {
  if (trustProxy.length === 0) return undefined;
  const isTrusted = proxyAddr.compile([...trustProxy]);
  const remembered = new LRUCache<string, boolean>({ max: REMEMBERED_MAX });
  return (address, hop) => {
    const known = remembered.get(address);
    if (known !== undefined) return known;
    const result = isTrusted(address, hop);
    // The socket of a sender who has disconnected has no address.
    if (address !== undefined && address.length <= REMEMBERED_CHARACTERS_MAX) remembered.set(address, result);
    return result;
  };
}

/** Returns the address of a request's sender in canonical form, as Fastify's `request.ip` and `canonicalAddress` do. */
export function sourceAddress(request: IncomingMessage, isTrusted: IsTrusted | undefined): string {
  const { remoteAddress } = request.socket;
  return canonicalAddress(isTrusted ? proxyAddr(request, isTrusted) : remoteAddress, remoteAddress);
}

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
