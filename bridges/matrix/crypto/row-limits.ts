import type { Key } from "./indexed-db";
import type { Write } from "./recorded-writes";

/** The maximum number of rows of an object store, and of the rows of one sender. */
export interface RowLimit {
  readonly rowsMax: number;
  readonly ofSenderMax?: number;
}

/**
 * The object stores that grow with each message or key that members send. The library never removes their rows. The
 * bridge reads each message once, soon after it was sent, so it needs only the newest keys.
 */
export const ROW_LIMITS: Readonly<Record<string, RowLimit>> = {
  inbound_group_sessions3: { rowsMax: 10_000, ofSenderMax: 500 },
  session: { rowsMax: 5_000 },
  olm_hashes: { rowsMax: 10_000 },
  withheld_sessions: { rowsMax: 2_000 },
  received_room_key_bundles: { rowsMax: 1_000 },
  rooms_pending_key_bundle: { rowsMax: 1_000 },
  gossip_requests: { rowsMax: 1_000 },
  secrets_inbox2: { rowsMax: 100 },
};

interface Row {
  readonly key: Key;
  readonly sender: string;
}

export type RowLimits = ReturnType<typeof createRowLimits>;

/** Notes the writes of a database, and returns the rows that exceed the limits. */
export function createRowLimits(limits: Readonly<Record<string, RowLimit>>) {
  /** The rows of each limited store, in the order in which they were last written. */
  const rows = new Map(Object.keys(limits).map((store) => [store, new Map<string, Row>()]));
  const bySender = new Map(Object.keys(limits).map((store) => [store, new Map<string, Set<string>>()]));

  function remove(store: string, id: string): void {
    const row = rows.get(store)?.get(id);
    if (row === undefined) return;
    rows.get(store)?.delete(id);
    const ofSender = bySender.get(store)?.get(row.sender);
    ofSender?.delete(id);
    if (ofSender?.size === 0) bySender.get(store)?.delete(row.sender);
  }

  function put(store: string, key: Key, value: unknown): void {
    const senders = bySender.get(store);
    if (senders === undefined) return;
    const id = JSON.stringify(key);
    remove(store, id);
    const { sender_key: sender } = Object(value) as { readonly sender_key?: unknown };
    const row = { key, sender: typeof sender === "string" ? sender : "" };
    rows.get(store)?.set(id, row);
    senders.set(row.sender, (senders.get(row.sender) ?? new Set()).add(id));
  }

  return {
    note(writes: readonly Write[]): void {
      for (const [kind, store, key, value] of writes) {
        if (kind === "put") put(store, key, value);
        else if (kind === "delete") remove(store, JSON.stringify(key));
        else for (const id of rows.get(store)?.keys() ?? []) remove(store, id);
      }
    },
    /** Returns the keys of the rows that exceed a limit, by store, the oldest first. */
    exceeding(): ReadonlyMap<string, readonly Key[]> {
      const found = new Map<string, readonly Key[]>();
      for (const [store, { rowsMax, ofSenderMax = rowsMax }] of Object.entries(limits)) {
        const all = rows.get(store) ?? new Map<string, Row>();
        const ids = new Set<string>();
        for (const ofSender of bySender.get(store)?.values() ?? []) {
          const surplus = ofSender.size - ofSenderMax;
          if (surplus > 0) for (const id of [...ofSender].slice(0, surplus)) ids.add(id);
        }
        let surplus = all.size - ids.size - rowsMax;
        for (const id of all.keys()) {
          if (surplus <= 0) break;
          if (!ids.has(id)) surplus -= 1;
          ids.add(id);
        }
        if (ids.size > 0)
          found.set(
            store,
            [...ids].flatMap((id) => all.get(id)?.key ?? []),
          );
      }
      return found;
    },
  };
}
