import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { createCallStarts } from "../../core/rpc/call-starts";
import { many } from "../harness/for-all";

const PER_TURN = 3;

/** Returns a function that makes a call over a connection, and the list of the calls that have started. */
function createTestStarts() {
  const inTurn = createCallStarts(PER_TURN);
  const started: string[] = [];
  const call = (connection: object, name: string): void => inTurn(connection, () => void started.push(name));
  return { started, call };
}

test("calls on one connection start in order, at most three in each turn of the event loop", async () => {
  const { started, call } = createTestStarts();
  const connection = {};
  for (const name of "abcdefgh") call(connection, name);
  expect(started.join("")).toBe("abc");
  await nextTurn();
  expect(started.join("")).toBe("abcdef");
  call(connection, "i");
  expect(started.join("")).toBe("abcdef");
  await nextTurn();
  expect(started.join("")).toBe("abcdefghi");
});

test("the calls of one connection do not delay calls of another connection", async () => {
  const { started, call } = createTestStarts();
  const connection = {};
  for (const name of "abcdefgh") call(connection, name);
  call({}, "x");
  expect(started.join("")).toBe("abcx");
});

test("after a turn of the event loop without calls, a connection can start its full share of calls again", async () => {
  const { started, call } = createTestStarts();
  const connection = {};
  for (const name of "abc") call(connection, name);
  await nextTurn();
  await nextTurn();
  for (const name of "def") call(connection, name);
  expect(started.join("")).toBe("abcdef");
});

test("every call starts once, and the calls of each connection start in order", async () => {
  const calls = fc.array(fc.record({ connection: fc.nat(3), waits: fc.boolean() }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(calls, async (all) => {
      const { started, call } = createTestStarts();
      const connections = [{}, {}, {}, {}];
      for (const [number, { connection, waits }] of all.entries()) {
        if (waits) await nextTurn();
        call(connections[connection] ?? {}, `${connection} ${number}`);
      }
      for (let turn = 0; turn * PER_TURN < all.length; turn++) await nextTurn();
      const ofConnection = (names: readonly string[], i: number) =>
        names.filter((name) => name.startsWith(`${i} `));
      const sent = all.map(({ connection }, number) => `${connection} ${number}`);
      for (const i of connections.keys()) expect(ofConnection(started, i)).toEqual(ofConnection(sent, i));
    }),
    { numRuns: many(50) },
  );
});
