import * as fc from "fast-check";
import {
  findMarkFault,
  FORMAT,
  KNOWN_FORMATS,
  markOf,
  parseMark,
  printMark,
  type StoreMark,
} from "../../core/domain/store-format";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const SHARDS = fc.integer({ min: 1, max: 1024 });
const NUMBER = fc.nat();
const MARK: fc.Arbitrary<StoreMark> = fc.oneof(
  fc.record({
    shards: SHARDS,
    format: NUMBER,
    migratingTo: NUMBER,
    since: fc.constant(undefined),
    unserved: fc.constant(undefined),
  }),
  fc.record({
    shards: SHARDS,
    format: fc.integer({ min: 2, max: 99 }),
    migratingTo: fc.constant(undefined),
    since: fc.constantFrom("1.0.0-beta.2", "2.1.0", undefined),
    unserved: fc.option(NUMBER, { nil: undefined }),
  }),
  SHARDS.map((shards) => ({
    shards,
    format: 1,
    since: undefined,
    migratingTo: undefined,
    unserved: undefined,
  })),
);

test("parsing a printed mark returns the same mark", () => {
  forAll(MARK, (mark) => expect(parseMark(printMark(mark))).toEqual(mark));
});

test("a core of release 1.0.0-beta.1, which compares the mark with SHARDS as text, starts only with format 1", () => {
  forAll(MARK, (mark) => {
    const isFormatOne = mark.format === 1 && mark.migratingTo === undefined;
    expect(printMark(mark) === String(mark.shards)).toBe(isFormatOne);
  });
});

test("only a mark of this release's format, with the right number of shards and without a migration, is usable", () => {
  forAll(MARK, SHARDS, (mark, shards) => {
    const isUsable = mark.format === FORMAT && mark.migratingTo === undefined && mark.shards === shards;
    expect(findMarkFault(printMark(mark), shards) === undefined).toBe(isUsable);
  });
  expect(findMarkFault(printMark(markOf(16)), 16)).toBeUndefined();
  expect(findMarkFault("16 format=2 since=1.0.0-beta.2 word=new unserved=0", 16)).toBeUndefined();
});

test("any text is parsed either as a mark or as a fault, and a fault is one line", () => {
  forAll(fc.string({ unit: ANY_CHARACTER }), (text) => {
    const fault = findMarkFault(text, 16);
    if (parseMark(text) === undefined) expect(fault).toContain("does not understand");
    expect(fault ?? "").not.toContain("\n");
  });
});

test.each([
  ["16", "data in format 1, of release 1.0.0-beta.1 or a build before 1.0.0-beta.2", "main.js migrate (docs"],
  [
    "16 format=3 since=1.4.0",
    "data in format 3, of release 1.4.0 or newer",
    "start that release, or stop all cores",
  ],
  ["16 format=1 migrating=2", "a migration of this Redis to format 2 has not finished", "migrate --to 2"],
  ["8 format=2", "SHARDS is 16, but this Redis was first used with 8", "set SHARDS=8"],
  ["sixteen", '"sixteen"', "docs/upgrade.md"],
])("the fault of the mark %j says what the store contains, and what to do", (text, has, what) => {
  expect(findMarkFault(text, 16)).toContain(has);
  expect(findMarkFault(text, 16)).toContain(what);
});

test("the list of known formats contains the format of this release, and its mark names the first release with it", () => {
  expect(KNOWN_FORMATS).toContain(FORMAT);
  expect(markOf(16).since).toBeDefined();
});
