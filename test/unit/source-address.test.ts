import * as fc from "fast-check";
import { canonicalAddress } from "../../edge/public/source-address";

test.each([
  ["IPv4", "192.0.2.7", "192.0.2.7"],
  ["IPv4 in IPv6", "::ffff:192.0.2.7", "192.0.2.7"],
  ["IPv4 in IPv6, in hex", "::FFFF:c000:207", "192.0.2.7"],
  ["IPv6 in full", "2001:0DB8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
  ["IPv6 with a zone", "fe80::1%eth0", "fe80::1"],
  ["loopback", "::1", "::1"],
])("%s is converted to the canonical form", (_what, claimed, canonical) => {
  expect(canonicalAddress(claimed, "198.51.100.1")).toBe(canonical);
});

test.each(["", "unknown", "_hidden", "192.0.2.7:4711", "[2001:db8::1]", "999.1.1.1", "a, b", "%", " "])(
  "if a proxy forwards text that is not an address, the address of the connection is used: %j",
  (claimed) => {
    expect(canonicalAddress(claimed, "::ffff:198.51.100.1")).toBe("198.51.100.1");
  },
);

test("all closed connections count as one address, because a closed connection has no address", () => {
  expect(canonicalAddress(undefined, undefined)).toBe("unknown");
});

test("all notations of an address count as the same address", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(canonicalAddress(`::ffff:${address}`, "")).toBe(canonicalAddress(address, ""));
    }),
  );
  fc.assert(
    fc.property(fc.ipV6(), fc.ipV4(), (address, socket) => {
      const once = canonicalAddress(address, socket);
      expect(canonicalAddress(once, socket)).toBe(once);
      expect(canonicalAddress(address.toUpperCase(), socket)).toBe(once);
    }),
  );
});
