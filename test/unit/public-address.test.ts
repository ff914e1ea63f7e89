import ipaddr from "ipaddr.js";
import * as fc from "fast-check";
import { isInBlocks, whyNotPublic, type AddressBlock } from "../../core/domain/public-address";

// contract: push-private
describe("an address that is not public is refused with the reason", () => {
  test.each([
    ["this host", "0.0.0.0", "unspecified"],
    ["this network", "0.1.2.3", "unspecified"],
    ["loopback", "127.0.0.1", "loopback"],
    ["the end of loopback", "127.255.255.255", "loopback"],
    ["private 10/8", "10.0.0.1", "private"],
    ["private 172.16/12", "172.16.0.1", "private"],
    ["the end of 172.16/12", "172.31.255.255", "private"],
    ["private 192.168/16", "192.168.1.1", "private"],
    ["carrier-grade NAT", "100.64.0.1", "carrier-grade NAT"],
    ["the end of carrier-grade NAT", "100.127.255.255", "carrier-grade NAT"],
    ["Alibaba's metadata", "100.100.100.200", "carrier-grade NAT"],
    ["link-local", "169.254.0.1", "link-local or cloud metadata"],
    ["cloud metadata", "169.254.169.254", "link-local or cloud metadata"],
    ["container credentials", "169.254.170.2", "link-local or cloud metadata"],
    ["Azure's host agent", "168.63.129.16", "cloud metadata"],
    ["protocol assignments", "192.0.0.1", "reserved"],
    ["Oracle's metadata", "192.0.0.192", "reserved"],
    ["documentation 1", "192.0.2.1", "reserved"],
    ["documentation 2", "198.51.100.1", "reserved"],
    ["documentation 3", "203.0.113.255", "reserved"],
    ["6to4 relays", "192.88.99.1", "reserved"],
    ["AS112", "192.31.196.1", "anycast sink"],
    ["AS112, direct", "192.175.48.1", "anycast sink"],
    ["multicast relays", "192.52.193.1", "multicast relay"],
    ["benchmarks", "198.18.0.1", "reserved"],
    ["the end of benchmarks", "198.19.255.255", "reserved"],
    ["multicast", "224.0.0.1", "multicast"],
    ["administrative multicast", "239.255.255.250", "multicast"],
    ["class E", "240.0.0.1", "reserved"],
    ["broadcast", "255.255.255.255", "broadcast"],
    ["unspecified v6", "::", "unspecified"],
    ["loopback v6", "::1", "loopback"],
    ["v4-compatible", "::10.0.0.1", "not global unicast"],
    ["v4-compatible of a public one", "::8.8.8.8", "not global unicast"],
    ["v4-compatible in hex", "::808:808", "not global unicast"],
    ["link-local v6", "fe80::1", "link-local or cloud metadata"],
    ["link-local v6 with a zone", "fe80::1%eth0", "link-local or cloud metadata"],
    ["site-local v6", "fec0::1", "private"],
    ["unique local", "fc00::1", "private"],
    ["Amazon's metadata v6", "fd00:ec2::254", "private"],
    ["Google's metadata v6", "fd20:ce::254", "private"],
    ["multicast v6", "ff02::1", "multicast"],
    ["documentation v6", "2001:db8::1", "reserved"],
    ["newer documentation v6", "3fff::1", "reserved"],
    ["discard-only", "100::1", "discard"],
    ["benchmarks v6", "2001:2::1", "benchmarking"],
    ["ORCHIDv2", "2001:20::1", "not routable"],
    ["segment routing", "5f00::1", "not routable"],
    ["unassigned v6", "4000::1", "not global unicast"],
    ["mapped private", "::ffff:10.0.0.1", "private"],
    ["mapped loopback in hex", "::ffff:7f00:1", "loopback"],
    ["mapped metadata", "::ffff:169.254.169.254", "link-local or cloud metadata"],
    ["translated private (SIIT)", "::ffff:0:10.0.0.1", "private"],
    ["NAT64 carrying loopback", "64:ff9b::127.0.0.1", "loopback"],
    ["NAT64 carrying private", "64:ff9b::192.168.0.1", "private"],
    ["NAT64 carrying metadata", "64:ff9b::a9fe:a9fe", "link-local or cloud metadata"],
    ["NAT64 carrying Azure's agent", "64:ff9b::168.63.129.16", "cloud metadata"],
    ["local NAT64 carrying private", "64:ff9b:1::10.0.0.1", "translation prefix of a site"],
    ["local NAT64 carrying public", "64:ff9b:1::8.8.8.8", "translation prefix of a site"],
    ["6to4 carrying private", "2002:0a00:0001::1", "private"],
    ["6to4 carrying loopback", "2002:7f00:0001::", "loopback"],
    ["Teredo carrying private", "2001:0:4136:e378:8000:63bf:f5ff:fffe", "private"],
    ["Teredo carrying loopback", "2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"],
  ])("%s: %s", (_name, address, why) => {
    expect(whyNotPublic(address)).toBe(why);
  });
});

test.each([
  ["8.8.8.8"],
  ["1.1.1.1"],
  ["9.255.255.255"],
  ["11.0.0.1"],
  ["100.63.255.255"],
  ["100.128.0.1"],
  ["126.255.255.255"],
  ["128.0.0.1"],
  ["168.63.129.15"],
  ["169.253.255.255"],
  ["172.15.255.255"],
  ["172.32.0.1"],
  ["192.167.255.255"],
  ["192.169.0.1"],
  ["198.17.255.255"],
  ["198.20.0.1"],
  ["223.255.255.255"],
  ["2001:4860:4860::8888"],
  ["2606:4700:4700::1111"],
  ["2a00:1450:4001::1"],
  ["::ffff:8.8.8.8"],
  ["64:ff9b::8.8.8.8"],
  ["2002:0808:0808::1"],
])("%s is public", (address) => {
  expect(whyNotPublic(address)).toBeUndefined();
});

test("an IPv6 address that carries an IPv4 address is judged by what it carries", () => {
  fc.assert(
    fc.property(fc.ipV4(), (v4) => {
      const why = whyNotPublic(v4);
      const hex = ipaddr.IPv4.parse(v4)
        .toByteArray()
        .map((byte) => byte.toString(16).padStart(2, "0"));
      const carriers = [`::ffff:${v4}`, `64:ff9b::${v4}`, `2002:${hex[0]}${hex[1]}:${hex[2]}${hex[3]}::1`];
      expect(carriers.map(whyNotPublic)).toEqual([why, why, why]);
    }),
  );
});

describe("blocks that an operator allows", () => {
  const blocks: readonly AddressBlock[] = ["10.1.0.0/16", "fd00::/8"].map((cidr) => ipaddr.parseCIDR(cidr));

  test.each([
    ["10.1.2.3", true],
    ["::ffff:10.1.2.3", true],
    ["fd12::1", true],
    ["fd12::1%eth0", true],
    ["10.2.0.1", false],
    ["::ffff:10.2.0.1", false],
    ["fe80::1", false],
    ["8.8.8.8", false],
  ])("%s is in them: %s", (address, expected) => {
    expect(isInBlocks(address, blocks)).toBe(expected);
  });

  test("no address is in none", () => {
    expect(isInBlocks("10.1.2.3", [])).toBe(false);
  });
});
