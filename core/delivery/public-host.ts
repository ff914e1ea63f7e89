import { isInBlocks, whyNotPublic, type AddressBlock } from "../../runtime/public-address";
import { literalAddress, parseTargetUrl } from "../domain/target-url";
import { TooManyLookups, type NameLookup, type TargetUrlCheck } from "../ports/outside";

export interface PublicHostOptions {
  readonly names: NameLookup;
  /** Blocks of non-public addresses to which pushes are allowed. By default, this list is empty. */
  readonly allow: readonly AddressBlock[];
}

/** The reason why core does not push to a host. `detail` is written for the owner of the workspace. */
export interface HostFault {
  readonly failure: "dns" | "refused-address";
  readonly detail: string;
  /** The host's addresses, or an empty list if the lookup failed. */
  readonly addresses: readonly string[];
}

/**
 * Returns the addresses of a host if all addresses are public or allowed. Otherwise returns a `HostFault`. This check
 * prevents pushes into private networks and to cloud metadata, e.g. 169.254.169.254 (SSRF). Core connects only to the
 * returned addresses, so a later DNS answer has no effect (DNS rebinding). `PUSH_ALLOW` lists networks that are also
 * allowed, e.g. for tests.
 */
export async function findPublicAddresses(
  { names, allow }: PublicHostOptions,
  url: URL,
): Promise<readonly string[] | HostFault> {
  const literal = literalAddress(url);
  const host = url.hostname;
  let addresses: readonly string[];
  try {
    addresses = literal === undefined ? await names.addresses(host) : [literal];
  } catch (error) {
    const advice =
      error instanceof TooManyLookups
        ? "core is looking up too many other names; try again"
        : "check its spelling and its DNS records";
    return {
      failure: "dns",
      detail: `the name ${host} could not be looked up: ${advice}`,
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

/** Creates the check for new target URLs. Core checks the addresses again for each new connection. */
export function createTargetUrlCheck(options: PublicHostOptions): TargetUrlCheck {
  return {
    async findFault(text) {
      const url = parseTargetUrl(text);
      if (typeof url === "string") return url;
      const found = await findPublicAddresses(options, url);
      return "failure" in found ? found.detail : undefined;
    },
  };
}
