import * as fc from "fast-check";
import { currentCommit, turnOf } from "../../scripts/turns";
import { forAll } from "../harness/for-all";

const commit = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 40, maxLength: 40 });
const NODES: [string, ...string[]] = ["22", "24", "26"];
const STORES: [string, ...string[]] = ["redis-8", "valkey"];

test("the same commit always selects the same Node release and the same store", () => {
  forAll(commit, (each) => {
    const choices = () => [turnOf(NODES, each, 0), turnOf(STORES, each, 1)];
    expect(choices()).toEqual(choices());
    expect(NODES).toContain(choices()[0]);
    expect(STORES).toContain(choices()[1]);
  });
});

test("among many commits, each pair of a Node release and a store is chosen", () => {
  const pairs = new Set<string>();
  // The chance that 300 random commits miss a pair is less than 1 in 10^22.
  for (const each of fc.sample(commit, 300))
    pairs.add(`${turnOf(NODES, each, 0)} ${turnOf(STORES, each, 1)}`);
  expect(pairs.size).toBe(NODES.length * STORES.length);
});

test("the script gets the current commit as a hash, with which it can choose a Node release and a store", () => {
  expect(currentCommit()).toMatch(/^[0-9a-f]{16,}$/);
});
