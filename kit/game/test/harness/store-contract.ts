import * as fc from "fast-check";
import { many } from "../../../../test/harness/for-all";
import type { WorkspaceDocument } from "../../document";
import type { GameStore, StoredDocument } from "../../store";

/** Returns a document that is empty except for its state. */
export function documentOf(state: string | number | Record<string, string | number>): WorkspaceDocument {
  return {
    id: "d",
    counter: 0,
    states: { "": state },
    timers: [],
    asked: [],
    messages: [],
    handled: [],
    outbox: [],
  };
}

let workspaces = 0;
/** Returns the id of a workspace that is not stored. */
export const newWorkspaceId = (): string => `workspace-${++workspaces}`;

const sorted = async (store: GameStore) => (await store.wakes()).toSorted((a, b) => a.atMs - b.atMs);

/**
 * Declares the tests that every store must pass.
 *
 * @param open returns a store that shares its data with the stores of the same name, and with no other store
 */
export function testStoreContract(open: (name: string) => GameStore): void {
  const opened: GameStore[] = [];
  let stores = 0;
  const newName = (): string => `store-${++stores}`;
  function openStore(name = newName()): GameStore {
    const store = open(name);
    opened.push(store);
    return store;
  }
  afterAll(() => Promise.all(opened.map(async (store) => store.close?.())));

  test("a workspace that was never saved is not stored", async () => {
    expect(await openStore().load(newWorkspaceId())).toBeUndefined();
  });

  test("a saved document is loaded unchanged", async () => {
    const store = openStore();
    const texts = fc.string({ unit: "grapheme", maxLength: 200 });
    const property = fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 5 }),
      texts,
      async (states, text) => {
        const id = newWorkspaceId();
        const document = JSON.parse(
          JSON.stringify({
            ...documentOf(text),
            states: Object.fromEntries(states.entries()),
            handled: [text],
          }),
        ) as WorkspaceDocument;
        expect(await store.save(id, { version: 1, document }, undefined)).toBe(true);
        expect(await store.load(id)).toEqual({ version: 1, document });
      },
    );
    await fc.assert(property, { numRuns: many(50) });
  });

  test("a document of several megabytes is stored", async () => {
    const store = openStore();
    const id = newWorkspaceId();
    const document = documentOf("é\n".repeat(1_500_000));
    expect(await store.save(id, { version: 1, document }, 5)).toBe(true);
    expect(await store.load(id)).toEqual({ version: 1, document });
    expect(await store.wakes()).toEqual([{ workspaceId: id, atMs: 5 }]);
  });

  test("a save is accepted only if the version before it is stored", async () => {
    const store = openStore();
    const id = newWorkspaceId();
    const save = (version: number) => store.save(id, { version, document: documentOf(version) }, undefined);
    expect(await save(2)).toBe(false);
    expect(await store.load(id)).toBeUndefined();
    expect(await save(1)).toBe(true);
    for (const wrong of [1, 3]) expect(await save(wrong)).toBe(false);
    expect(await save(2)).toBe(true);
    for (const wrong of [1, 2, 4]) expect(await save(wrong)).toBe(false);
    expect(await store.load(id)).toEqual({ version: 2, document: documentOf(2) });
  });

  test("a rejected save does not change the wake time", async () => {
    const store = openStore();
    const id = newWorkspaceId();
    await store.save(id, { version: 1, document: documentOf(1) }, 10);
    for (const wakeAtMs of [20, undefined]) {
      expect(await store.save(id, { version: 1, document: documentOf(1) }, wakeAtMs)).toBe(false);
      expect(await store.save(id, { version: 3, document: documentOf(1) }, wakeAtMs)).toBe(false);
    }
    expect(await store.wakes()).toEqual([{ workspaceId: id, atMs: 10 }]);
  });

  test("`wakes` returns the wake times that the last saves set", async () => {
    const store = openStore();
    const [a, b, c] = [newWorkspaceId(), newWorkspaceId(), newWorkspaceId()];
    const save = (id: string, version: number, wakeAtMs?: number) =>
      store.save(id, { version, document: documentOf(version) }, wakeAtMs);
    expect(await store.wakes()).toEqual([]);
    await save(a, 1, 3_000_000_000_000);
    await save(b, 1, 1);
    await save(c, 1);
    expect(await sorted(store)).toEqual([
      { workspaceId: b, atMs: 1 },
      { workspaceId: a, atMs: 3_000_000_000_000 },
    ]);
    await save(a, 2, 2);
    await save(b, 2);
    await save(c, 2, 1_700_000_000_123);
    expect(await sorted(store)).toEqual([
      { workspaceId: a, atMs: 2 },
      { workspaceId: c, atMs: 1_700_000_000_123 },
    ]);
  });

  test("wakes returns thousands of workspaces", async () => {
    const store = openStore();
    const ids = Array.from({ length: 3_000 }, newWorkspaceId);
    const save = (id: string, i: number) => store.save(id, { version: 1, document: documentOf(i) }, i);
    for (let i = 0; i < ids.length; i += 100)
      await Promise.all(ids.slice(i, i + 100).map((id, j) => save(id, i + j)));
    expect(await sorted(store)).toEqual(ids.map((workspaceId, atMs) => ({ workspaceId, atMs })));
  });

  test("a removed workspace is not stored, and can be saved again from the first version", async () => {
    const store = openStore();
    const id = newWorkspaceId();
    await store.remove(id);
    for (const version of [1, 2]) await store.save(id, { version, document: documentOf(version) }, 7);
    await store.remove(id);
    expect(await store.load(id)).toBeUndefined();
    expect(await store.wakes()).toEqual([]);
    expect(await store.save(id, { version: 3, document: documentOf(3) }, 7)).toBe(false);
    expect(await store.save(id, { version: 1, document: documentOf("new") }, 8)).toBe(true);
    expect(await store.load(id)).toEqual({ version: 1, document: documentOf("new") });
    expect(await store.wakes()).toEqual([{ workspaceId: id, atMs: 8 }]);
  });

  test("workspaces with similar or unusual ids are separate", async () => {
    const store = openStore();
    const ids = [
      "",
      ".",
      "..",
      "../..",
      "a",
      "A",
      "%61",
      "%",
      "a/b",
      "a\\b",
      "a b",
      "{a}",
      "é",
      "e\u0301",
      "👩‍👩‍👧",
      "a\0b",
      "con",
      ":",
    ];
    for (const [i, id] of ids.entries())
      expect(await store.save(id, { version: 1, document: documentOf(i) }, i)).toBe(true);
    for (const [i, id] of ids.entries())
      expect(await store.load(id)).toEqual({ version: 1, document: documentOf(i) });
    expect(await sorted(store)).toEqual(ids.map((workspaceId, atMs) => ({ workspaceId, atMs })));
    await store.remove("..");
    expect(await store.wakes()).toHaveLength(ids.length - 1);
  });

  test("a store that is opened later contains the same workspaces", async () => {
    const name = newName();
    const before = openStore(name);
    const id = newWorkspaceId();
    for (const version of [1, 2, 3])
      await before.save(id, { version, document: documentOf(version) }, version);
    const after = openStore(name);
    expect(await after.load(id)).toEqual({ version: 3, document: documentOf(3) });
    expect(await after.wakes()).toEqual([{ workspaceId: id, atMs: 3 }]);
    expect(await after.save(id, { version: 4, document: documentOf(4) }, undefined)).toBe(true);
    expect(await before.save(id, { version: 4, document: documentOf("lost") }, undefined)).toBe(false);
    expect(await before.load(id)).toEqual({ version: 4, document: documentOf(4) });
    await after.remove(id);
    expect(await before.load(id)).toBeUndefined();
  });

  test("exactly one of several concurrent saves is accepted", async () => {
    const name = newName();
    const both = [openStore(name), openStore(name)] as const;
    const id = newWorkspaceId();
    for (let version = 1; version <= 50; version++) {
      const saves = Array.from({ length: 6 }, async (_, i) => {
        const document = documentOf(i);
        return (await both[i % 2 === 0 ? 0 : 1].save(id, { version, document }, i)) ? [i] : [];
      });
      const accepted = (await Promise.all(saves)).flat();
      expect(accepted).toHaveLength(1);
      const [winner = -1] = accepted;
      expect(await both[0].load(id)).toEqual({ version, document: documentOf(winner) });
      expect(await both[1].wakes()).toEqual([{ workspaceId: id, atMs: winner }]);
    }
  });

  test("in random interleavings, each accepted save follows the version before it", async () => {
    const steps = fc.array(fc.constantFrom("load", "save", "save", "pause"), { maxLength: 20 });
    const property = fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 5 }), async (processes) => {
      const name = newName();
      const id = newWorkspaceId();
      const accepted = new Map<number, string>();
      const parents = new Map<string, string>();
      let saves = 0;
      const runs = processes.map(async (process, number) => {
        const store = openStore(name);
        let known: StoredDocument | undefined;
        for (const step of process) {
          if (step === "pause") await new Promise((resolve) => setImmediate(resolve));
          if (step === "load") known = await store.load(id);
          if (step !== "save") continue;
          const version = (known?.version ?? 0) + 1;
          const label = `${number}.${++saves}`;
          parents.set(label, labelOf(known));
          const stored = { version, document: documentOf(label) };
          if (!(await store.save(id, stored, version))) continue;
          // No other save of this version may have been accepted.
          expect(accepted.get(version)).toBeUndefined();
          accepted.set(version, label);
          known = stored;
        }
        await store.close?.();
      });
      await Promise.all(runs);
      const labels = Array.from({ length: accepted.size }, (_, i) => accepted.get(i + 1));
      for (const [i, label] of labels.entries())
        expect(parents.get(label ?? "")).toBe(i === 0 ? "" : labels[i - 1]);
      const store = openStore(name);
      const last = await store.load(id);
      expect(last?.version ?? 0).toBe(accepted.size);
      expect(labelOf(last)).toBe(labels.at(-1) ?? "");
      expect(await store.wakes()).toEqual(
        last === undefined ? [] : [{ workspaceId: id, atMs: last.version }],
      );
      await store.close?.();
    });
    await fc.assert(property, { numRuns: many(50) });
  });

  test("after random calls, the store contains the same workspaces as a model of the store", async () => {
    const call = fc.record({
      name: fc.constantFrom("save", "save", "save", "remove"),
      workspace: fc.nat(2),
      next: fc.constantFrom(1, 1, 1, 0, 2, -1),
      wakeAtMs: fc.option(fc.nat(10), { nil: undefined }),
    });
    const property = fc.asyncProperty(fc.array(call, { maxLength: 25 }), async (calls) => {
      const store = openStore();
      const table = new Map<string, { version: number; label: number; atMs: number | undefined }>();
      for (const [label, { name, workspace, next, wakeAtMs }] of calls.entries()) {
        const id = `w${workspace}`;
        if (name === "remove") {
          await store.remove(id);
          table.delete(id);
          continue;
        }
        const version = Math.max(1, (table.get(id)?.version ?? 0) + next);
        const isNext = version === (table.get(id)?.version ?? 0) + 1;
        expect(await store.save(id, { version, document: documentOf(label) }, wakeAtMs)).toBe(isNext);
        if (isNext) table.set(id, { version, label, atMs: wakeAtMs });
      }
      for (const id of ["w0", "w1", "w2"]) {
        const found = table.get(id);
        expect(await store.load(id)).toEqual(
          found && { version: found.version, document: documentOf(found.label) },
        );
      }
      const awake = [...table].flatMap(([workspaceId, { atMs }]) =>
        atMs === undefined ? [] : [{ workspaceId, atMs }],
      );
      const found = [...(await store.wakes())];
      expect(found).toHaveLength(awake.length);
      expect(found).toEqual(expect.arrayContaining(awake));
      await store.close?.();
    });
    await fc.assert(property, { numRuns: many(50) });
  });
}

const labelOf = (stored: StoredDocument | undefined): string =>
  (stored?.document.states[""] as string | undefined) ?? "";
