/**
 * The parts of IndexedDB that the store of the keys uses. Browsers' type declarations are not available in Node.
 * `fake-indexeddb` implements IndexedDB in memory.
 */

/** A key. The cryptography uses only keys that JSON can represent. */
export type Key = string | number | readonly Key[];

export interface KeyRange {
  readonly lower?: Key;
  readonly upper?: Key;
  includes(key: Key): boolean;
}

export interface Request<T = unknown> extends EventTarget {
  readonly result: T;
  readonly error: Error | null;
}

export interface Cursor {
  readonly source: ObjectStore | { readonly objectStore: ObjectStore };
  readonly primaryKey: Key;
  readonly value: unknown;
  continue(): void;
  update(value: unknown): Request;
  delete(): Request;
}

export interface IndexShape {
  readonly name: string;
  readonly keyPath: string | readonly string[];
  readonly unique: boolean;
  readonly multiEntry: boolean;
}

export interface ObjectStore {
  readonly name: string;
  readonly transaction: Transaction;
  readonly keyPath: string | readonly string[] | null;
  readonly autoIncrement: boolean;
  readonly indexNames: ArrayLike<string>;
  index(name: string): IndexShape;
  createIndex(name: string, keyPath: IndexShape["keyPath"], options: object): unknown;
  put(value: unknown, key?: Key): Request;
  add(value: unknown, key?: Key): Request;
  delete(query: Key | KeyRange): Request;
  clear(): Request;
  count(): Request<number>;
  getAllKeys(): Request<Key[]>;
  openCursor(): Request<Cursor | null>;
}

export interface Transaction extends EventTarget {
  readonly db: Database;
  readonly error: Error | null;
  objectStore(name: string): ObjectStore;
}

export interface Database {
  readonly name: string;
  readonly version: number;
  readonly objectStoreNames: ArrayLike<string>;
  createObjectStore(name: string, options: object): ObjectStore;
  transaction(stores: readonly string[], mode: "readonly" | "readwrite"): Transaction;
  close(): void;
}

export interface Factory {
  open(name: string, version?: number): Request<Database>;
  databases(): Promise<readonly { readonly name: string; readonly version: number }[]>;
}

/** The constructors of IndexedDB, whose prototypes have the methods that write. */
export interface IndexedDb {
  readonly indexedDB: Factory;
  readonly IDBObjectStore: { readonly prototype: ObjectStore };
  readonly IDBCursor: { readonly prototype: Cursor };
}

/** Resolves to the result of a request. */
export function resultOf<T>(request: Request<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("the request failed")));
  });
}

/** Resolves once a transaction is complete. */
export function completed(transaction: Transaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("abort", () =>
      reject(transaction.error ?? new Error("the transaction failed")),
    );
  });
}

/** Opens a database. `upgrade` is called if the database is older than `version`. */
export function openDatabase(
  { indexedDB }: IndexedDb,
  name: string,
  version?: number,
  upgrade?: (db: Database) => void,
): Promise<Database> {
  const request = indexedDB.open(name, version);
  request.addEventListener("upgradeneeded", () => upgrade?.(request.result));
  return resultOf(request);
}

/** Yields each row of an object store. */
export async function rowsOf(store: ObjectStore): Promise<readonly (readonly [Key, unknown])[]> {
  const rows: [Key, unknown][] = [];
  const request = store.openCursor();
  return new Promise((resolve, reject) => {
    request.addEventListener("error", () => reject(request.error ?? new Error("the request failed")));
    request.addEventListener("success", () => {
      const cursor = request.result;
      if (cursor === null) return resolve(rows);
      rows.push([cursor.primaryKey, cursor.value]);
      cursor.continue();
    });
  });
}
