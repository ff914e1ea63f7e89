import ipaddr from "ipaddr.js";
import * as fc from "fast-check";
import { isInBlocks, whyNotPublic } from "../../runtime/public-address";

/** Addresses that are not public, grouped by the reason. They include the first and last addresses of some blocks. */
const REFUSED: Readonly<Record<string, string>> = {
  unspecified: "0.0.0.0 0.1.2.3 ::",
  loopback: "127.0.0.1 127.255.255.255 ::1 ::ffff:7f00:1 64:ff9b::127.0.0.1 2002:7f00:0001::",
  private: "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fec0::1 fc00::1 fd00:ec2::254 fd20:ce::254",
  "carrier-grade NAT": "100.64.0.1 100.127.255.255 100.100.100.200",
  "link-local or cloud metadata": "169.254.0.1 169.254.169.254 169.254.170.2 fe80::1 fe80::1%eth0",
  "cloud metadata": "168.63.129.16 64:ff9b::168.63.129.16",
  reserved:
    "192.0.0.1 192.0.0.192 192.0.2.1 198.51.100.1 203.0.113.255 192.88.99.1 198.18.0.1 198.19.255.255 240.0.0.1 2001:db8::1 3fff::1",
  "anycast sink": "192.31.196.1 192.175.48.1",
  "multicast relay": "192.52.193.1",
  multicast: "224.0.0.1 239.255.255.250 ff02::1",
  broadcast: "255.255.255.255",
  "not global unicast": "::10.0.0.1 ::8.8.8.8 ::808:808 4000::1",
  discard: "100::1",
  benchmarking: "2001:2::1",
  "not routable": "2001:20::1 5f00::1",
  "NAT64 prefix of a site": "64:ff9b:1::10.0.0.1 64:ff9b:1::8.8.8.8",
};
/** IPv6 addresses that carry an IPv4 address: mapped, SIIT, NAT64, 6to4, Teredo and ISATAP. */
const CARRIERS: Readonly<Record<string, string>> = {
  private:
    "::ffff:10.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::192.168.0.1 2002:0a00:0001::1 2001:0:4136:e378:8000:63bf:f5ff:fffe " +
    "2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:10.0.0.1 2002:0808:0808::5efe:10.0.0.1 fd00::5efe:8.8.8.8",
  loopback: "2001:0:4136:e378:8000:63bf:80ff:fffe 2606:4700::5efe:7f00:1",
  "link-local or cloud metadata": "::ffff:169.254.169.254 64:ff9b::a9fe:a9fe fe80::5efe:8.8.8.8",
};
const PUBLIC =
  "8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 168.63.129.15 " +
  "169.253.255.255 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 " +
  "2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:0808:0808::1 " +
  "2606:4700::5efe:8.8.8.8 2606:4700::200:5efe:8.8.8.8 2606:4700::300:5efe:10.0.0.1 2606:4700::5efe:a00:1:1";

const rows = [...Object.entries(REFUSED), ...Object.entries(CARRIERS)].flatMap(([why, addresses]) =>
  addresses.split(" ").map((address) => [address, why]),
);

// contract: push-private
test.each(rows)("%s is not public: %s", (address, why) => {
  expect(whyNotPublic(address)).toBe(why);
});

test.each(PUBLIC.split(" "))("%s is public", (address) => {
  expect(whyNotPublic(address)).toBeUndefined();
});

test("an IPv6 address that carries an IPv4 address is public only if the IPv4 address is public", () => {
  fc.assert(
    fc.property(fc.ipV4(), (v4) => {
      const why = whyNotPublic(v4);
      const hex = Buffer.from(ipaddr.IPv4.parse(v4).toByteArray()).toString("hex");
      const carriers = [
        `::ffff:${v4}`,
        `64:ff9b::${v4}`,
        `2002:${hex.slice(0, 4)}:${hex.slice(4)}::1`,
        `2606:4700::200:5efe:${v4}`,
      ];
      expect(carriers.map(whyNotPublic)).toEqual(carriers.map(() => why));
    }),
  );
});

test.each([
  ["10.1.2.3", true],
  ["::ffff:10.1.2.3", true],
  ["fd12::1", true],
  ["fd12::1%eth0", true],
  ["10.2.0.1", false],
  ["::ffff:10.2.0.1", false],
  ["fe80::1", false],
  ["8.8.8.8", false],
])("%s is in a block that the operator allows: %s", (address, expected) => {
  const blocks = ["10.1.0.0/16", "fd00::/8"].map((cidr) => ipaddr.parseCIDR(cidr));
  expect(isInBlocks(address, blocks)).toBe(expected);
  expect(isInBlocks(address, [])).toBe(false);
});
