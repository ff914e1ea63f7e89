import type { Cursor, IndexedDb, Key, KeyRange, ObjectStore } from "./indexed-db";

/** A write to an object store. All values are JSON. */
export type Write =
  | readonly ["put", store: string, key: Key, value: unknown]
  | readonly ["delete", store: string, key: Key]
  | readonly ["clear", store: string];

/** Called with the writes of each completed transaction, in the order of the transactions. */
export type OnWrites = (writes: readonly Write[]) => void;

const listeners = new Map<string, OnWrites>();
const recorded = new WeakSet<object>();

/**
 * Calls `onWrites` with all later writes to the database `name`. The writes of a transaction that is aborted are left
 * out.
 *
 * `fake-indexeddb` keeps everything in memory and has no hook for writes, so this function wraps the methods that write.
 */
export function recordWrites(db: IndexedDb, name: string, onWrites: OnWrites): void {
  listeners.set(name, onWrites);
  if (recorded.has(db.IDBObjectStore)) return;
  recorded.add(db.IDBObjectStore);
  wrap<ObjectStore, "put">(db.IDBObjectStore.prototype, "put", notePut);
  wrap<ObjectStore, "add">(db.IDBObjectStore.prototype, "add", notePut);
  wrap<ObjectStore, "delete">(db.IDBObjectStore.prototype, "delete", (store, key) => {
    note(store, ["delete", store.name, keyOf(key)]);
  });
  wrap<ObjectStore, "clear">(db.IDBObjectStore.prototype, "clear", (store) =>
    note(store, ["clear", store.name]),
  );
  wrap<Cursor, "update">(db.IDBCursor.prototype, "update", (cursor, value) => {
    notePut(storeOf(cursor), value, cursor.primaryKey);
  });
  wrap<Cursor, "delete">(db.IDBCursor.prototype, "delete", (cursor) => {
    const store = storeOf(cursor);
    note(store, ["delete", store.name, cursor.primaryKey]);
  });
}

/** Stops the recording of a database. */
export function forgetWrites(name: string): void {
  listeners.delete(name);
}

type Method = (...args: never[]) => unknown;

/** Replaces a method with one that first calls `before`. */
function wrap<Target extends object, Name extends keyof Target>(
  prototype: Target,
  name: Name,
  before: (self: Target, ...args: Parameters<Extract<Target[Name], Method>>) => void,
): void {
  const original = prototype[name] as Method;
  const replaced = function (this: Target, ...args: never[]): unknown {
    before(this, ...(args as Parameters<Extract<Target[Name], Method>>));
    return original.apply(this, args);
  };
  Object.defineProperty(prototype, name, { value: replaced, configurable: true, writable: true });
}

function notePut(store: ObjectStore, value: unknown, key?: Key): void {
  if (!listeners.has(store.transaction.db.name)) return;
  if (key === undefined) throw new Error(`cannot record a value without a key in ${store.name}`);
  note(store, ["put", store.name, keyOf(key), jsonOf(value, store.name)]);
}

const pending = new WeakMap<object, Write[]>();

function note({ transaction }: ObjectStore, write: Write): void {
  const { name } = transaction.db;
  if (!listeners.has(name)) return;
  const known = pending.get(transaction);
  if (known !== undefined) {
    known.push(write);
    return;
  }
  const writes = [write];
  pending.set(transaction, writes);
  transaction.addEventListener("complete", () => listeners.get(name)?.(writes));
}

function storeOf({ source }: Cursor): ObjectStore {
  return "objectStore" in source ? source.objectStore : source;
}

function keyOf(key: Key | KeyRange): Key {
  if (typeof key === "string" || typeof key === "number" || Array.isArray(key)) return key as Key;
  throw new Error("cannot record a key that is not JSON");
}

/** Returns the value. Throws if JSON would change the value, e.g. a `Date` or bytes. */
function jsonOf(value: unknown, store: string): unknown {
  if (!isJson(value)) throw new Error(`cannot record a value of ${store} that is not JSON`);
  return value;
}

function isJson(value: unknown): boolean {
  if (value === null || ["string", "number", "boolean", "undefined"].includes(typeof value)) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) return value.every(isJson);
  // Objects of another realm, e.g. of a test environment, have another prototype.
  return Object.prototype.toString.call(value) === "[object Object]" && Object.values(value).every(isJson);
}
