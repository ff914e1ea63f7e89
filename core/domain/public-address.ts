import ipaddr from "ipaddr.js";

/** An address block: its first address and the bits that count. */
export type AddressBlock = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** A cloud's own service at a global address: the agent of Azure's hosts. */
const AZURE_HOST_AGENT = "168.63.129.16";
/** Translation prefixes of a site's own: where the IPv4 address stands in them, only the site knows. */
const NAT64_LOCAL: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("64:ff9b:1::"), 48];
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/**
 * Why an address is not one that pushes go to, in a word or two, or undefined
 * when it is public: global unicast, and not of a cloud's own services. IPv6
 * forms that carry an IPv4 address are judged by what they carry too.
 *
 * @param address in any textual form of an IP address
 */
export function whyNotPublic(address: string): string | undefined {
  const parsed = ipaddr.parse(plain(address));
  if (parsed instanceof ipaddr.IPv4) return whyNotPublicV4(parsed);
  if (parsed.match(NAT64_LOCAL)) return "translation prefix of a site";
  const carried = carriedV4(parsed);
  const why = carried === undefined ? whyNotPublicV6(parsed) : whyNotPublicV4(carried);
  if (why !== undefined) return why;
  // Whatever the prefix: a router may take the packet to the IPv4 address in the interface id.
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

/** The library's names of ranges, in words where they are not words already. */
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

/** Whether an address is in one of the blocks; a v4-mapped one is in the blocks of its IPv4 address. */
export function isInBlocks(address: string, blocks: readonly AddressBlock[]): boolean {
  const parsed = ipaddr.process(plain(address));
  return blocks.some(([first, bits]) => first.kind() === parsed.kind() && parsed.match(first, bits));
}

/** The IPv4 address inside of a mapped, NAT64, 6to4 or Teredo address. */
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

/** The IPv4 address at the end of an ISATAP address (RFC 5214): its interface id begins with 0:5efe or 200:5efe. */
function isatapV4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const [first = 0, second] = address.parts.slice(4);
  const isIsatap = (first === 0 || first === 0x200) && second === 0x5efe;
  return isIsatap ? new ipaddr.IPv4(address.toByteArray().slice(12, 16)) : undefined;
}

/** Without a zone, and so that the library does not take the old v4-compatible form "::1.2.3.4" for a v4-mapped one. */
function plain(address: string): string {
  return address.replace(/%.*$/, "").replace(/^::(?=\d+\.)/, "0::");
}
