import { isInBlocks, whyNotPublic, type AddressBlock } from "../domain/public-address";
import { literalAddress } from "../domain/target-url";
import type { NameLookup } from "../ports/name-lookup";

export interface PublicHostOptions {
  readonly names: NameLookup;
  /** Addresses that are gone to although they are not public; none unless an operator lists them. */
  readonly allow: readonly AddressBlock[];
}

/** Why a host is not gone to, in words for its owner. */
export interface HostFault {
  readonly failure: "dns" | "refused-address";
  readonly detail: string;
  /** What the name was found to be, when that is what is at fault. */
  readonly addresses: readonly string[];
}

/** The addresses of a host, once it is known that all of them are public. One that is not refuses the lot. */
export async function findPublicAddresses(
  { names, allow }: PublicHostOptions,
  url: URL,
): Promise<readonly string[] | HostFault> {
  const literal = literalAddress(url);
  const host = url.hostname;
  let addresses: readonly string[];
  try {
    addresses = literal === undefined ? await names.addresses(host) : [literal];
  } catch {
    return {
      failure: "dns",
      detail: `the name ${host} could not be looked up: check its spelling and its DNS records`,
      addresses: [],
    };
  }
  if (addresses.length === 0) {
    return { failure: "dns", detail: `the name ${host} has no address`, addresses };
  }
  for (const address of addresses) {
    const why = isInBlocks(address, allow) ? undefined : whyNotPublic(address);
    if (why !== undefined) {
      return {
        failure: "refused-address",
        detail:
          literal === undefined
            ? `${host} is at ${address}, which is not a public address (${why})`
            : `${address} is not a public address (${why})`,
        addresses,
      };
    }
  }
  return addresses;
}
