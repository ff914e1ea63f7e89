import type { OperatorChange } from "../domain/operator-event";
import type { OperatorOutbox, StoredOperatorEvent } from "../ports/operator-outbox";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Reply } from "./redis/redis";
import { asList, asText } from "./redis/reply";

/** Maximum number of events that are read in one call. */
const READ_MAX = 100;

/** The facts of an event, as functions/operator.lua stores them. Times are in ms. */
interface StoredFacts {
  readonly mode?: OperatorChange["mode"];
  readonly reason?: OperatorChange["reason"];
  /** The HTTP status; 0 if the bridge did not answer. */
  readonly status?: number;
  readonly since: number;
  readonly oldest?: number;
  readonly event?: string;
  readonly eventtype?: string;
  readonly attempts?: number;
  readonly count?: number;
  readonly group?: string;
  readonly attempt?: number;
}

function toEvent(reply: Reply): StoredOperatorEvent {
  const [entryId = "", workspaceId = "", type = "", json = ""] = asList(reply).map(asText);
  const facts = JSON.parse(json) as StoredFacts;
  const { mode, reason, status, since, oldest, event, eventtype = "", attempts = 0, count = 0 } = facts;
  const { group, attempt = 0 } = facts;
  return {
    entryId,
    // This id is unique, because the ids of a shard's entries increase, and each workspace belongs to one shard.
    id: `op_${workspaceId}_${entryId}`,
    type: type as OperatorChange["type"],
    atMs: Number.parseInt(entryId, 10),
    workspaceId,
    mode,
    reason,
    status: status || undefined,
    sinceMs: since,
    oldestWaitingAtMs: oldest,
    event: event === undefined ? undefined : { id: event, type: eventtype, attempts, count },
    deadLetter: group === undefined ? undefined : { group, attempt },
  };
}

export function createOperatorOutbox(functions: Functions, keys: Keys): OperatorOutbox {
  return {
    async read(shard, after) {
      const args = [String(READ_MAX), after === undefined ? "-" : `(${after}`];
      return asList(await functions.call("read_operator_events", keys.prefix(shard), args)).map(toEvent);
    },
    async remove(shard, { entryId, workspaceId }) {
      await functions.call("remove_operator_event", keys.prefix(shard), [entryId, workspaceId]);
    },
  };
}
