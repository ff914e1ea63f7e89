import { memoryStore, type GameStore } from "../../store";
import { testStoreContract } from "../harness/store-contract";

const stores = new Map<string, GameStore>();

testStoreContract((name) => {
  const store = stores.get(name) ?? memoryStore();
  stores.set(name, store);
  return store;
});
