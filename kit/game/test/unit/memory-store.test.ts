import { emptyDocument } from "../../document";
import { memoryStore, type GameStore } from "../../store";
import { testStoreContract } from "../harness/store-contract";

const stores = new Map<string, GameStore>();

testStoreContract((name) => {
  const store = stores.get(name) ?? memoryStore();
  stores.set(name, store);
  return store;
});

test("a store with a maximum drops the workspace that was saved least recently", async () => {
  const store = memoryStore(2);
  const save = (id: string, version: number) =>
    store.save(id, { version, document: emptyDocument(id) }, 1_000);
  for (const [id, version] of [
    ["a", 1],
    ["b", 1],
    ["a", 2],
    ["c", 1],
  ] as const) {
    expect(await save(id, version)).toBe(true);
  }
  const versions = await Promise.all(["a", "b", "c"].map(async (id) => (await store.load(id))?.version));
  expect(versions).toEqual([2, undefined, 1]);
  expect((await store.wakes()).map(({ workspaceId }) => workspaceId)).toEqual(["a", "c"]);
});
