import { isInBlocks, whyNotPublic, type AddressBlock } from "../domain/public-address";
import { literalAddress, parseTargetUrl } from "../domain/target-url";
import type { NameLookup } from "../ports/name-lookup";
import type { TargetUrlCheck } from "../ports/target-url-check";

export interface TargetUrlCheckOptions {
  readonly names: NameLookup;
  /** Addresses that are gone to although they are not public; none unless an operator lists them. */
  readonly allow: readonly AddressBlock[];
}

/** The rule of where pushes may go: HTTPS, and only where every address of the host is public. */
export function createTargetUrlCheck({ names, allow }: TargetUrlCheckOptions): TargetUrlCheck {
  return {
    async findFault(text) {
      const url = parseTargetUrl(text);
      if (typeof url === "string") return url;
      const literal = literalAddress(url);
      let addresses: readonly string[];
      try {
        addresses = literal === undefined ? await names.addresses(url.hostname) : [literal];
      } catch {
        return `the name ${url.hostname} could not be looked up: check its spelling and its DNS records`;
      }
      return findAddressFault(url.hostname, addresses, allow);
    },
  };
}

/** Why a host with these addresses is not gone to: one that is not public refuses the lot. */
function findAddressFault(
  host: string,
  addresses: readonly string[],
  allow: readonly AddressBlock[],
): string | undefined {
  if (addresses.length === 0) return `the name ${host} has no address`;
  for (const address of addresses) {
    const why = isInBlocks(address, allow) ? undefined : whyNotPublic(address);
    if (why !== undefined) return `${host} is at ${address}, which is not a public address (${why})`;
  }
  return undefined;
}
