import type { Server, Socket } from "node:net";
import ipaddr from "ipaddr.js";

/** The bounds of a listener's open connections. */
export interface ConnectionBounds {
  /** Maximum number of all connections. */
  readonly max: number;
  /** Maximum number of connections from one IPv4 address or one IPv6 /64; lower than `max`. */
  readonly share: number;
  /**
   * Addresses and CIDRs of proxies. `share` does not apply to proxies, because they forward the connections of many
   * clients.
   */
  readonly trusted?: readonly string[];
}

/** The connections that a listener has refused so far. */
export interface RefusedConnections {
  /** Number of connections above `max`. */
  all: number;
  /** Number of connections above `share`. */
  address: number;
}

/**
 * Limits the number of a listener's open connections, so that no single address can use all of them. A connection above
 * a limit is closed before its first byte is read. Call this function before the server listens.
 */
export function limitConnections(
  server: Server,
  { max, share, trusted = [] }: ConnectionBounds,
): Readonly<RefusedConnections> {
  const refused: RefusedConnections = { all: 0, address: 0 };
  const blocks = trusted.map(parseBlock);
  const open = new Map<string, number>();
  server.maxConnections = max;
  server.on("drop", () => (refused.all += 1));
  server.prependListener("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    // The client has already disconnected.
    if (remoteAddress === undefined) return;
    const address = ipaddr.process(withoutZone(remoteAddress));
    if (blocks.some(([block, bits]) => block.kind() === address.kind() && address.match(block, bits))) return;
    const key = networkOf(remoteAddress);
    const count = open.get(key) ?? 0;
    if (count >= share) {
      refused.address += 1;
      // Unlike a regular close, a reset leaves no state behind.
      socket.resetAndDestroy();
      return;
    }
    open.set(key, count + 1);
    socket.once("close", () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    });
  });
  return refused;
}

/**
 * Returns the key of a client's address: an IPv4 address, or the /64 of an IPv6 address, because one client can use a
 * whole /64. An IPv4-mapped IPv6 address has the same key as its IPv4 address. A string that is not an address is
 * returned unchanged.
 */
export function networkOf(text: string): string {
  const bare = withoutZone(text);
  if (!ipaddr.isValid(bare)) return text;
  const address = ipaddr.process(bare);
  return address instanceof ipaddr.IPv6 ? address.toByteArray().slice(0, 8).join(".") : address.toString();
}

const withoutZone = (address: string): string => address.replace(/%.*$/, "");

function parseBlock(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes("/")) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
