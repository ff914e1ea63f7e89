import { Resolver } from "node:dns/promises";
import { startNames, type TestNames } from "./names";
import { until } from "./wait";

let names: TestNames;
let resolver: Resolver;
beforeEach(async () => {
  names = await startNames({ "v4.example": ["203.0.113.7", "203.0.113.8"], "v6.example": ["2001:db8::1"] });
  resolver = resolverOf(20_000);
});
afterEach(() => names.close());

function resolverOf(timeout: number): Resolver {
  const made = new Resolver({ timeout, tries: 1 });
  made.setServers([names.server]);
  return made;
}

test("a name has the addresses of the table, each under its family", async () => {
  expect(await resolver.resolve4("v4.example")).toEqual(["203.0.113.7", "203.0.113.8"]);
  expect(await resolver.resolve6("v6.example")).toEqual(["2001:db8::1"]);
  await expect(resolver.resolve6("v4.example")).rejects.toMatchObject({ code: "ENODATA" });
});

test("letter case does not matter", async () => {
  names.set("Mixed.Example", ["203.0.113.9"]);
  expect(await resolver.resolve4("mIXED.eXAMPLE")).toEqual(["203.0.113.9"]);
  expect(names.lookups("MIXED.example")).toBe(1);
});

test.each([
  ["a name that is not in the table", undefined, "ENOTFOUND"],
  ["NXDOMAIN", "NXDOMAIN", "ENOTFOUND"],
  ["SERVFAIL", "SERVFAIL", "ESERVFAIL"],
  ["silence", "silence", "ETIMEOUT"],
] as const)("%s fails a look-up with its own code", async (_title, record, code) => {
  if (record !== undefined) names.set("bad.example", record);
  const asking = record === "silence" ? resolverOf(200) : resolver;
  await expect(asking.resolve4("bad.example")).rejects.toMatchObject({ code });
  // Who does not wait for an answer may give up before the question is read.
  await until("the question to come", () => names.queries.length > 0);
  expect(names.queries).toContainEqual({ name: "bad.example", type: "A", number: 1 });
});

test("the second look-up can give another address than the first", async () => {
  names.set("rebind.example", ({ number }) => (number === 1 ? ["203.0.113.7"] : ["127.0.0.1"]));
  expect(await resolver.resolve4("rebind.example")).toEqual(["203.0.113.7"]);
  expect(await resolver.resolve4("rebind.example")).toEqual(["127.0.0.1"]);
});

test("an answer may come late", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  names.set("late.example", async () => {
    await released;
    return ["203.0.113.7"];
  });
  const late = resolver.resolve4("late.example");
  await resolver.resolve4("v4.example");
  release();
  expect(await late).toEqual(["203.0.113.7"]);
});

test("asking for both families is one look-up of a name", async () => {
  await Promise.allSettled([resolver.resolve4("v4.example"), resolver.resolve6("v4.example")]);
  expect([names.lookups("v4.example"), names.lookups("v6.example"), names.queries.length]).toEqual([1, 0, 2]);
});

test("it closes twice without harm, and answers no more", async () => {
  await names.close();
  await names.close();
  await expect(resolverOf(200).resolve4("v4.example")).rejects.toMatchObject({
    code: expect.stringMatching(/^(ECONNREFUSED|ETIMEOUT)$/) as string,
  });
});
