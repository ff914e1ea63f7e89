import * as fc from "fast-check";
import { readPollQuery } from "../../edge/read-poll-query";

/** "valid", or the parameter that is at fault. */
function outcome(query: string): string {
  const read = readPollQuery(query);
  return "query" in read ? "valid" : String(read.violation.field);
}

// contract: poll-limit
test.each([
  ["", undefined, 100],
  ["after=latest", { $case: "latest", value: true }, 100],
  ["after=0", { $case: "after", value: "0" }, 100],
  ["after=007", { $case: "after", value: "007" }, 100],
  ["after=999999999999999999", { $case: "after", value: "999999999999999999" }, 100],
  ["limit=1", undefined, 1],
  ["limit=100", undefined, 100],
  ["limit=7&after=12", { $case: "after", value: "12" }, 7],
  ["after=%31%32", { $case: "after", value: "12" }, 100],
  ["%61fter=12", { $case: "after", value: "12" }, 100],
  ["&&after=12&", { $case: "after", value: "12" }, 100],
])("the query %j is read", (query, from, limit) => {
  expect(readPollQuery(query)).toEqual({ query: { from, limit } });
});

// contract: poll-query-400, poll-cursor, poll-limit
test.each([
  // A cursor has 1 to 18 decimal digits.
  ["after=", "after"],
  ["after", "after"],
  ["after=1234567890123456789", "after"],
  ["after=-1", "after"],
  ["after=1.0", "after"],
  ["after=1e3", "after"],
  ["after=0x10", "after"],
  ["after=+1", "after"],
  ["after=%201", "after"],
  ["after=1%0A", "after"],
  ["after=%zz", "after"],
  ["after=١٢", "after"],
  ["after=Latest", "after"],
  ["after=latest%00", "after"],
  // A limit is an integer from 1 to 100.
  ["limit=", "limit"],
  ["limit=0", "limit"],
  ["limit=101", "limit"],
  ["limit=-1", "limit"],
  ["limit=1.5", "limit"],
  ["limit=1e1", "limit"],
  ["limit=ten", "limit"],
  ["limit=99999999999999999999", "limit"],
  ["limit=NaN", "limit"],
  // Each may be given once.
  ["after=1&after=1", "after"],
  ["after=1&after=2", "after"],
  ["limit=5&limit=5", "limit"],
  ["after=1&%61fter=1", "after"],
  // Nothing else may be given.
  ["before=1", "before"],
  ["After=1", "After"],
  ["after[]=1", "after[]"],
  ["limit =1", "limit "],
  ["__proto__=1", "__proto__"],
  ["=1", ""],
  // The first fault is named: after, limit, then what is unknown.
  ["x=1&limit=0&after=", "after"],
  ["x=1&limit=0", "limit"],
  ["y=1&x=1", "y"],
])("the query %j is refused, naming %j", (query, field) => {
  expect(outcome(query)).toBe(field);
});

test("the name of an unknown parameter is not repeated at any length", () => {
  expect(outcome("x".repeat(10_000)).length).toBeLessThan(1_000);
});

test("a query is judged by the contract's table, whatever it is made of", () => {
  const cursor = fc.stringMatching(/^[0-9]{1,20}$/);
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("after", "limit") },
    { weight: 1, arbitrary: fc.string() },
  );
  const value = fc.oneof(
    cursor,
    fc.constant("latest"),
    fc.integer({ min: -2, max: 110 }).map(String),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 4 }), (parameters) => {
      const query = parameters.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
      expect(outcome(query)).toBe(faultByTable(parameters));
    }),
    { numRuns: 1_000 },
  );
});

/** The contract's table, said again in plain steps. */
function faultByTable(parameters: readonly (readonly [string, string])[]): string {
  const all = (wanted: string) => parameters.filter(([name]) => name === wanted).map(([, value]) => value);
  const [after, ...moreAfter] = all("after");
  if (moreAfter.length > 0) return "after";
  if (after !== undefined && after !== "latest") {
    if (after.length < 1 || after.length > 18) return "after";
    if ([...after].some((character) => !"0123456789".includes(character))) return "after";
  }
  const [limit, ...moreLimit] = all("limit");
  if (moreLimit.length > 0) return "limit";
  if (limit !== undefined) {
    const oneToHundred = Array.from({ length: 100 }, (_, i) => String(i + 1));
    const bare = /^0+[1-9]/.test(limit) && limit.length <= 3 ? limit.replace(/^0+/, "") : limit;
    if (!oneToHundred.includes(bare)) return "limit";
  }
  const unknown = parameters.find(([name]) => name !== "after" && name !== "limit");
  return unknown === undefined ? "valid" : unknown[0];
}
