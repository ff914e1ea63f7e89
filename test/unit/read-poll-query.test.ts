import { readPollQuery } from "../../edge/public/read-poll-query";

/** Returns "valid", or the name of the invalid parameter. */
function outcome(query: string): string {
  const read = readPollQuery(query);
  return read.$case === "query" ? "valid" : String(read.value.field);
}

// contract: poll-limit
test.each([
  ["", undefined, 100],
  ["after=latest", { $case: "latest", value: true }, 100],
  ["after=007", { $case: "after", value: "007" }, 100],
  ["after=999999999999999999", { $case: "after", value: "999999999999999999" }, 100],
  ["limit=1", undefined, 1],
  ["limit=100", undefined, 100],
  ["limit=7&after=12", { $case: "after", value: "12" }, 7],
  ["%61fter=%31%32", { $case: "after", value: "12" }, 100],
  ["&&after=12&", { $case: "after", value: "12" }, 100],
])("the query %j is accepted", (query, from, limit) => {
  expect(readPollQuery(query)).toEqual({ $case: "query", value: { from, limit } });
});

const CURSORS =
  "after= after after=1234567890123456789 after=-1 after=1.0 after=1e3 after=0x10 after=+1 after=%201";
const MORE_CURSORS = "after=1%0A after=%zz after=١٢ after=Latest after=latest%00";
const LIMITS =
  "limit= limit=0 limit=101 limit=-1 limit=1.5 limit=1e1 limit=ten limit=99999999999999999999 limit=NaN";

// contract: poll-query-400, poll-cursor, poll-limit
test.each([
  ["a cursor other than 1 to 18 digits", "after", `${CURSORS} ${MORE_CURSORS}`.split(" ")],
  ["a limit other than an integer from 1 to 100", "limit", LIMITS.split(" ")],
  ["a cursor given twice", "after", ["after=1&after=1", "after=1&after=2", "after=1&%61fter=1"]],
  ["a limit given twice", "limit", ["limit=5&limit=5"]],
  ["an invalid cursor and an invalid limit", "after", ["x=1&limit=0&after="]],
  ["an invalid limit and an unknown parameter", "limit", ["x=1&limit=0"]],
  ["two unknown parameters", "y", ["y=1&x=1"]],
])("%s: rejected with the field %j", (_what, field, queries) => {
  expect(queries.map((query) => [query, outcome(query)])).toEqual(queries.map((query) => [query, field]));
});

test.each(["before", "After", "after[]", "limit ", "__proto__", ""])("parameter %j is unknown", (name) => {
  expect(outcome(`${name}=1`)).toBe(name);
});

test("if the name of an unknown parameter is long, the answer contains only the start of the name", () => {
  expect(outcome("x".repeat(10_000)).length).toBeLessThan(1_000);
});
