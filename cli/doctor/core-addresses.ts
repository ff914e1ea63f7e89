import { lookup } from "node:dns/promises";
import { isIP, isIPv6 } from "node:net";

/** One address of core. */
export interface CoreAddress {
  readonly host: string;
  readonly port: number;
}

/** The value of CORE_ADDRESS: either addresses, or a name that resolves to addresses. */
export interface CoreTarget {
  /** The name that core's certificate must contain; undefined if CORE_ADDRESS contains only addresses. */
  readonly name: string | undefined;
  /** Rejects when the name cannot be looked up. */
  addresses(): Promise<readonly CoreAddress[]>;
}

/**
 * Maximum number of addresses of a name to which doctor connects. A name with more addresses cannot be a name of core.
 */
export const ADDRESSES_MAX = 16;

/** Parses a gRPC target in one of the forms that CORE_ADDRESS allows. */
export function parseCoreTarget(target: string): CoreTarget {
  const listed = /^ipv[46][:,](.*)$/.exec(target)?.[1];
  if (listed !== undefined) {
    const addresses = listed.split(",").map(parseAddress).slice(0, ADDRESSES_MAX);
    return { name: undefined, addresses: async () => addresses };
  }
  const one = parseAddress(target.replace(/^dns:\/\/\//, ""));
  if (isIP(one.host) !== 0) return { name: undefined, addresses: async () => [one] };
  return {
    name: one.host,
    async addresses() {
      const found = await lookup(one.host, { all: true });
      return found.map(({ address }) => ({ host: address, port: one.port })).slice(0, ADDRESSES_MAX);
    },
  };
}

/** Returns an address as a gRPC target. */
export function toTarget({ host, port }: CoreAddress): string {
  return isIPv6(host) ? `ipv6:[${host}]:${port}` : `ipv4:${host}:${port}`;
}

/** Returns host:port, for people. */
export function addressText({ host, port }: CoreAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseAddress(text: string): CoreAddress {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at).replaceAll(/[[\]]/g, ""), port: Number(text.slice(at + 1)) };
}
