import { openJournal, type Journal } from "chat-bridge-kit/journal";
import {
  completed,
  openDatabase,
  rowsOf,
  type Database,
  type IndexedDb,
  type IndexShape,
} from "./indexed-db";
import { forgetWrites, recordWrites, type Write } from "./recorded-writes";
import { createRowLimits, ROW_LIMITS, type RowLimit, type RowLimits } from "./row-limits";

/** Growth of the file after which the file is compacted, in UTF-16 code units. */
const GROWTH_MAX = 4 * 1024 * 1024;

interface StoreShape {
  readonly name: string;
  readonly keyPath: string | readonly string[] | null;
  readonly autoIncrement: boolean;
  readonly indexes: readonly IndexShape[];
}

/** The version and the object stores of a database. */
interface Shape {
  readonly version: number;
  readonly stores: readonly StoreShape[];
}

/** A line of the file: the whole database, or the writes of some transactions. */
type Entry =
  | { readonly shape: Shape; readonly writes: readonly Write[] }
  | { readonly shape?: undefined; readonly writes: readonly Write[] };

/** The content of the file: the rows of each store, keyed by the JSON of the row's key. */
interface Content {
  shape: Shape | undefined;
  readonly rows: Map<string, Map<string, Write>>;
}

/**
 * A database in memory, whose writes are appended to a file. A crash loses the writes since the last `save`, but never
 * only a part of a transaction.
 */
export class SavedDatabase {
  readonly #db: IndexedDb;
  readonly #name: string;
  readonly #journal: Journal<Entry>;
  readonly #limits: RowLimits;
  #shape: Shape | undefined;
  /** Writes that are not yet in the file. */
  #unsaved: Write[] = [];
  #saving: Promise<void> = Promise.resolve();

  private constructor(db: IndexedDb, name: string, journal: Journal<Entry>, limits: RowLimits) {
    this.#limits = limits;
    this.#db = db;
    this.#name = name;
    this.#journal = journal;
  }

  /**
   * Reads the file, and creates the database `name` in memory. If there is no file, creates no database.
   *
   * @param options.report called when the file cannot be compacted
   */
  static async open(
    db: IndexedDb,
    options: {
      readonly name: string;
      readonly path: string;
      readonly limits?: Readonly<Record<string, RowLimit>>;
      report(problem: Error): void;
    },
  ): Promise<SavedDatabase> {
    const { name, path, limits = ROW_LIMITS, report } = options;
    const journal = openJournal<Entry>(path, { growthMax: GROWTH_MAX, keep: compacted, report });
    const saved = new SavedDatabase(db, name, journal, createRowLimits(limits));
    const entries = await journal.load();
    saved.#shape = entries[0]?.shape;
    if (saved.#shape !== undefined) await fill(db, name, saved.#shape, entries);
    for (const { writes } of entries) saved.#limits.note(writes);
    recordWrites(db, name, (writes) => saved.#note(writes));
    return saved;
  }

  /**
   * Saves the whole database if its version has changed. Call `saveShape` after the owner of the database has opened it,
   * because the owner then creates or changes the object stores.
   */
  async saveShape(): Promise<void> {
    const db = await openDatabase(this.#db, this.#name);
    try {
      if (db.version === this.#shape?.version) return;
      const names = Array.from(db.objectStoreNames);
      const transaction = db.transaction(names, "readonly");
      const stores = names.map((name) => transaction.objectStore(name));
      const shape = { version: db.version, stores: stores.map(shapeOf) };
      const rows = await Promise.all(stores.map(rowsOf));
      const writes = rows.flatMap((ofStore, i) =>
        ofStore.map(([key, value]): Write => ["put", names[i] ?? "", key, value]),
      );
      this.#unsaved = [];
      await this.#journal.append({ shape, writes });
      this.#shape = shape;
    } finally {
      db.close();
    }
  }

  /** Resolves once all writes so far would survive a crash. */
  save(): Promise<void> {
    // Appends run one after another, so that the writes in the file stay in order even after a failure.
    this.#saving = this.#saving.catch(() => undefined).then(() => this.#append());
    return this.#saving;
  }

  /** Removes the oldest rows of the object stores that exceed their limits (see `ROW_LIMITS`). */
  async removeSurplus(): Promise<void> {
    const surplus = this.#limits.exceeding();
    if (surplus.size === 0) return;
    const db = await openDatabase(this.#db, this.#name);
    const transaction = db.transaction([...surplus.keys()], "readwrite");
    const done = completed(transaction);
    for (const [store, keys] of surplus) for (const key of keys) transaction.objectStore(store).delete(key);
    await done;
    db.close();
  }

  close(): void {
    forgetWrites(this.#name);
  }

  #note(writes: readonly Write[]): void {
    this.#unsaved.push(...writes);
    this.#limits.note(writes);
  }

  async #append(): Promise<void> {
    if (this.#unsaved.length === 0) return;
    const writes = this.#unsaved;
    this.#unsaved = [];
    try {
      await this.#journal.append({ writes });
    } catch (error) {
      this.#unsaved = [...writes, ...this.#unsaved];
      throw error;
    }
  }
}

function shapeOf(store: Parameters<typeof rowsOf>[0]): StoreShape {
  const indexes = Array.from(store.indexNames, (name) => store.index(name));
  return {
    name: store.name,
    keyPath: store.keyPath,
    autoIncrement: store.autoIncrement,
    indexes: indexes.map(({ name, keyPath, unique, multiEntry }) => ({ name, keyPath, unique, multiEntry })),
  };
}

/** Returns the entries of the compacted file: the shape of the database, and its rows. */
function compacted(values: Iterable<unknown>): readonly Entry[] {
  const content: Content = { shape: undefined, rows: new Map() };
  for (const value of values) apply(content, value as Entry);
  const { shape, rows } = content;
  if (shape === undefined) return [];
  const lines = [...rows.values()].flatMap((ofStore) =>
    [...ofStore.values()].map((write) => ({ writes: [write] })),
  );
  return [{ shape, writes: [] }, ...lines];
}

function apply(content: Content, { shape, writes }: Entry): void {
  if (shape !== undefined) {
    content.shape = shape;
    content.rows.clear();
  }
  for (const write of writes) {
    const [kind, store, key] = write;
    const rows = content.rows.get(store) ?? new Map<string, Write>();
    content.rows.set(store, rows);
    if (kind === "clear") rows.clear();
    else if (kind === "delete") rows.delete(JSON.stringify(key));
    else {
      // Moves the row to the end, because rows are in the order in which they were written: see `ROW_LIMITS`.
      rows.delete(JSON.stringify(key));
      rows.set(JSON.stringify(key), write);
    }
  }
}

/** Creates a database in memory with the content of the file. */
async function fill(
  db: IndexedDb,
  name: string,
  { version, stores }: Shape,
  entries: readonly Entry[],
): Promise<void> {
  const opened: Database = await openDatabase(db, name, version, (created) => {
    for (const { name: storeName, keyPath, autoIncrement, indexes } of stores) {
      const store = created.createObjectStore(storeName, { keyPath, autoIncrement });
      for (const index of indexes) store.createIndex(index.name, index.keyPath, index);
    }
  });
  const names = stores.map((store) => store.name);
  const transaction = opened.transaction(names, "readwrite");
  for (const { writes } of entries) {
    for (const [kind, store, key, value] of writes) {
      if (kind === "put") transaction.objectStore(store).put(value, key);
    }
  }
  await completed(transaction);
  opened.close();
}
