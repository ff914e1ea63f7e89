import dns from "node:dns";
import dnsPromises from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { createHostsFile, HOSTS_FILE_MAX_BYTES, parseHosts } from "../../core/delivery/hosts-file";
import { createNameLookup } from "../../core/delivery/system-names";
import { TooManyLookups } from "../../core/ports/outside";
import { testFolder } from "../harness/folder";
import { forAll } from "../harness/for-all";
import { startNames, type TestNames } from "../harness/names";
import { until } from "../harness/wait";

const folder = testFolder();
const NO_HOSTS = { addresses: () => [] };

describe("the hosts file", () => {
  test("the hosts file lists the addresses of each name in the order of the lines; case and comments do not matter", () => {
    const label = fc.stringMatching(/^[a-zA-Z0-9-]{1,8}$/);
    const line = fc.record({
      address: fc.oneof(fc.ipV4(), fc.ipV6()),
      names: fc.array(label, { maxLength: 3 }),
    });
    forAll(
      fc.array(line),
      fc.constantFrom(" ", "\t", "  "),
      fc.constantFrom("", " # comment"),
      (lines, gap, end) => {
        const text = lines.map(({ address, names }) => [address, ...names].join(gap) + end).join("\n");
        const expected = new Map<string, Set<string>>();
        for (const { address, names } of lines) {
          for (const name of names.map((each) => each.toLowerCase())) {
            expected.set(name, (expected.get(name) ?? new Set()).add(address));
          }
        }
        expect(parseHosts(text)).toEqual(new Map([...expected].map(([name, found]) => [name, [...found]])));
      },
    );
  });

  test("the hosts file is parsed without an error, even if it contains arbitrary text", () => {
    forAll(fc.string(), (text) => void parseHosts(text));
  });

  // time: controlled
  test("the hosts file is read again when it has changed, and counts as empty while it does not exist", () => {
    const path = join(folder, "changing");
    let now = 0;
    const hosts = createHostsFile(path, () => now);
    expect(hosts.addresses("one.test")).toEqual([]);
    writeFileSync(path, "127.0.0.1 one.test\n");
    now += 1_000;
    expect(hosts.addresses("one.test")).toEqual(["127.0.0.1"]);
    writeFileSync(path, "127.0.0.22 one.test\n::1 one.test\n");
    now += 999;
    expect(hosts.addresses("one.test")).toEqual(["127.0.0.1"]);
    now += 1;
    expect(hosts.addresses("one.test.")).toEqual(["127.0.0.22", "::1"]);
  });

  test("the hosts file is read up to its maximum size", () => {
    const path = join(folder, "large");
    const line = "127.0.0.1 filler.test\n";
    const fillers = line.repeat(Math.ceil(HOSTS_FILE_MAX_BYTES / line.length));
    writeFileSync(path, `127.0.0.2 first.test\n${fillers}127.0.0.3 last.test\n`);
    const hosts = createHostsFile(path);
    expect([hosts.addresses("first.test"), hosts.addresses("last.test")]).toEqual([["127.0.0.2"], []]);
  });
});

describe("a lookup", () => {
  let names: TestNames;
  beforeAll(async () => {
    names = await startNames({ "slow.test": "silence", "slow2.test": "silence", "fast.test": ["127.0.0.1"] });
  });
  afterAll(() => names.close());
  const servers = () => [names.server];

  test("a lookup does not send a query if the name is in the hosts file, with or without a dot at its end", async () => {
    const path = join(folder, "hosts");
    writeFileSync(path, "10.0.0.1 known.test\n");
    const lookup = createNameLookup({ servers: servers(), hosts: createHostsFile(path) });
    expect(await lookup.addresses("known.test")).toEqual(["10.0.0.1"]);
    expect(await lookup.addresses("known.test.")).toEqual(["10.0.0.1"]);
    expect(names.lookups("known.test")).toBe(0);
  });

  test("a lookup uses the system's hosts file if the settings have no name servers", async () => {
    const found = await createNameLookup({ servers: [] }).addresses("localhost");
    expect(found).toContain("127.0.0.1");
  });

  test.each(["NXDOMAIN", "SERVFAIL"] as const)(
    "a lookup fails if it is answered with %s, and does not use getaddrinfo, whose threads core's other lookups need",
    async (answer) => {
      const spies = [jest.spyOn(dns, "lookup"), jest.spyOn(dnsPromises, "lookup")] as const;
      names.set("missing.test", answer);
      await expect(
        createNameLookup({ servers: servers(), hosts: NO_HOSTS }).addresses("missing.test"),
      ).rejects.toThrow();
      expect(names.lookups("missing.test")).toBeGreaterThan(0);
      expect(spies.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
      for (const spy of spies) spy.mockRestore();
    },
  );

  // time: ordering
  test("a lookup occupies one slot while the servers do not answer, then fails, and does not delay other names", async () => {
    const lookup = createNameLookup({ servers: servers(), max: 2 });
    const ended: string[] = [];
    const look = (name: string) =>
      lookup.addresses(name).then(
        () => ended.push(name),
        () => ended.push(`no ${name}`),
      );
    const slow = Array.from({ length: 50 }, () => look("slow.test"));
    await look("fast.test");
    expect(ended).toEqual(["fast.test"]);
    const slow2 = look("slow2.test");
    await expect(lookup.addresses("fast.test")).rejects.toThrow(TooManyLookups);
    await Promise.all([...slow, slow2]);
    expect(ended.filter((each) => each === "no slow.test")).toHaveLength(50);
    // Two tries of one query.
    expect(names.lookups("slow.test")).toBe(2);
    const found = await until("a place is free", () => lookup.addresses("fast.test").catch(() => undefined));
    expect(found).toEqual(["127.0.0.1"]);
  });

  test("a lookup finds both IPv4 and IPv6 addresses", async () => {
    names.set("both.test", ["127.0.0.1", "::1"]);
    const found = await createNameLookup({ servers: servers() }).addresses("both.test");
    expect([...found].toSorted()).toEqual(["127.0.0.1", "::1"]);
  });
});
