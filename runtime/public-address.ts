import ipaddr from "ipaddr.js";

/** An address block: its first address and the length of its prefix in bits. */
export type AddressBlock = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * The address of the agent on Azure's hosts. The agent is an internal service of the cloud, although its address is
 * global.
 */
const AZURE_HOST_AGENT = "168.63.129.16";
/**
 * The local NAT64 prefix. Each site chooses the position of the IPv4 address after the prefix, so all addresses with
 * this prefix are rejected.
 */
const NAT64_LOCAL: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("64:ff9b:1::"), 48];
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/**
 * Returns undefined for a public address, and otherwise the reason, in a few words, why the address is not public. A
 * public address is a global unicast address that does not belong to an internal service of a cloud. An IPv6 address
 * that contains an IPv4 address is public only if the IPv4 address is public. Callers reject addresses that are not
 * public, to prevent server-side request forgery (SSRF).
 *
 * @param address an IP address in any textual form
 */
export function whyNotPublic(address: string): string | undefined {
  const parsed = ipaddr.parse(plain(address));
  if (parsed instanceof ipaddr.IPv4) return whyNotPublicV4(parsed);
  if (parsed.match(NAT64_LOCAL)) return "NAT64 prefix of a site";
  const carried = carriedV4(parsed);
  const why = carried === undefined ? whyNotPublicV6(parsed) : whyNotPublicV4(carried);
  if (why !== undefined) return why;
  // Whatever the prefix is, a router may forward a packet to the IPv4 address that an ISATAP interface id contains.
  const isatap = isatapV4(parsed);
  return isatap === undefined ? undefined : whyNotPublicV4(isatap);
}

function whyNotPublicV6(address: ipaddr.IPv6): string | undefined {
  const range = address.range();
  if (range !== "unicast") return RANGE_NAMES[range] ?? range;
  return address.match(GLOBAL_UNICAST) ? undefined : "not global unicast";
}

function whyNotPublicV4(address: ipaddr.IPv4): string | undefined {
  if (address.toString() === AZURE_HOST_AGENT) return "cloud metadata";
  const range = address.range();
  return range === "unicast" ? undefined : (RANGE_NAMES[range] ?? range);
}

/** Readable names for address ranges. The library's own names for these ranges are hard to read. */
const RANGE_NAMES: Readonly<Record<string, string>> = {
  linkLocal: "link-local or cloud metadata",
  carrierGradeNat: "carrier-grade NAT",
  uniqueLocal: "private",
  deprecatedSiteLocal: "private",
  as112: "anycast sink",
  as112v6: "anycast sink",
  amt: "multicast relay",
  orchid2: "not routable",
  deprecatedOrchid: "not routable",
  droneRemoteIdProtocolEntityTags: "not routable",
  segmentRouting: "not routable",
};

/**
 * Parses CIDRs into address blocks. Throws an `Error` whose message is worded to follow the name of a setting, e.g.
 * "PUSH_ALLOW has an entry …".
 */
export function parseBlocks(cidrs: readonly string[]): readonly AddressBlock[] {
  return cidrs.map((cidr) => {
    if (!ipaddr.isValidCIDR(cidr)) throw new Error("has an entry that is not a CIDR such as 10.1.0.0/16");
    return ipaddr.parseCIDR(cidr);
  });
}

/** Returns an address block in CIDR notation. */
export function formatBlock([first, bits]: AddressBlock): string {
  return `${first.toString()}/${bits}`;
}

/** Whether an address is in one of the blocks. A v4-mapped address counts as its IPv4 address. */
export function isInBlocks(address: string, blocks: readonly AddressBlock[]): boolean {
  const parsed = ipaddr.process(plain(address));
  return blocks.some(([first, bits]) => first.kind() === parsed.kind() && parsed.match(first, bits));
}

/** Returns the IPv4 address that a v4-mapped, NAT64, 6to4 or Teredo address contains. */
function carriedV4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const bytes = address.toByteArray();
  switch (address.range()) {
    case "ipv4Mapped":
    case "rfc6145":
    case "rfc6052":
      return new ipaddr.IPv4(bytes.slice(12, 16));
    case "6to4":
      return new ipaddr.IPv4(bytes.slice(2, 6));
    case "teredo":
      return new ipaddr.IPv4(bytes.slice(12, 16).map((byte) => byte ^ 0xff));
    default:
      return undefined;
  }
}

/**
 * Returns the IPv4 address in an ISATAP address (RFC 5214). The interface id of such an address begins with
 * 0:5efe or 200:5efe.
 */
function isatapV4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const [first = 0, second] = address.parts.slice(4);
  const isIsatap = (first === 0 || first === 0x200) && second === 0x5efe;
  return isIsatap ? new ipaddr.IPv4(address.toByteArray().slice(12, 16)) : undefined;
}

/** Removes the zone, and prevents the library from reading the v4-compatible form `::1.2.3.4` as v4-mapped. */
function plain(address: string): string {
  return address.replace(/%.*$/, "").replace(/^::(?=\d+\.)/, "0::");
}
