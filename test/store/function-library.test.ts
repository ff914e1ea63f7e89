import { readLibrary, readMigrationLibrary } from "../../core/store/read-library";
import { findScopeFaults } from "../harness/lua-scopes";

/** The globals of Lua 5.1 and of Redis that the library may use. */
const GLOBALS = new Set(
  "redis cjson struct cmsgpack bit string table math ipairs pairs next select tonumber tostring type unpack error pcall".split(
    " ",
  ),
);
/**
 * Maximum number of local variables in a function. Lua allows 200; above 195, there is hardly room for another file.
 */
const LOCALS_MAX = 195;

test.each([
  ["function library", readLibrary],
  ["library of the migration", readMigrationLibrary],
])(
  "every name in the %s is defined where it is used, and there is room for more local variables",
  (_name, read) => {
    const { code } = read();
    const source = code.replace(/^#!.*/, "");
    const lines = source.split("\n");
    const faults = findScopeFaults(source, GLOBALS, LOCALS_MAX);
    // To make room, put the variables that no other file uses into a block: see BLOCKS in read-library.ts.
    expect(faults.map(({ line, fault }) => `${fault}: ${lines[line - 1]?.trim()}`)).toEqual([]);
  },
);

test("the check finds unknown names and too many local variables", () => {
  const find = (source: string) => findScopeFaults(source, new Set(["redis"]), 4).map(({ fault }) => fault);
  expect(find("do\nlocal a = 1\nend\nreturn a")).toEqual(["a is not a local variable"]);
  expect(find("local t = { a = 1, ['b'] = 2 } return t.a, t.b -- a 'b'\n")).toEqual([]);
  expect(find("local f\nfunction f(a, ...) while redis(a) do local b f(b) end end")).toEqual([]);
  expect(find("local function f() if f then local a elseif a then f() end end")).toEqual([
    "a is not a local variable",
  ]);
  expect(find("local a, b, c\ndo local d, e end\nlocal f")).toEqual([
    "e is local variable 5 of its function",
  ]);
  expect(find("for a, b in redis do end")).toEqual(["b is local variable 5 of its function"]);
  expect(find("local a, b, c, d\nlocal function e() end")).toEqual(["e is local variable 5 of its function"]);
});
