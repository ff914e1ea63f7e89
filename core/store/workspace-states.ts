import { WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import type { Standing, StateCounts, WorkspaceStates } from "../ports/workspace-states";
import { decodeAttempt } from "./delivery-log";
import { batchFunction } from "./function-batch";
import type { FunctionName, Functions } from "./functions";
import type { Keys } from "./keys";
import type { Reply } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";
import { STATE_RANKS, stateOfRank } from "./state-ranks";

/** Pattern of an element of the index by state. */
const PLACE_FORM = /^[0-9]{2}:[0-9]{13}:[0-9a-f-]{36}$/;
/** Maximum number of workspaces in one call that reads states. */
const READ_MAX = 100;
/** Maximum number of due states that one list or count computes, in all shards together. */
const SETTLED_MAX = 400;
/** Number of workspaces in one call that completes the index. */
const CHECKED_AT_ONCE = 100;
/**
 * Maximum number of calls that complete the index of a shard. Without this maximum, a list might never finish while
 * cores of an older release create workspaces.
 */
const CHECKS_MAX = 3_000;

function toPlace({ state, sinceMs, id }: Standing): string {
  return `${STATE_RANKS[state]}:${String(sinceMs).padStart(13, "0")}:${id}`;
}

const idOf = (place: string): string => place.slice(place.lastIndexOf(":") + 1);

function toStanding(id: string, reply: Reply): Standing | undefined {
  const [listed, recovered, polled, attemptedAt, attempt] = asList(reply);
  if (listed === undefined) return undefined;
  const [rank = "", since] = asText(listed).split(":");
  const text = asText(attempt ?? "");
  return {
    id,
    state: stateOfRank(rank),
    sinceMs: Number(since),
    recoveredAtMs: asNumber(recovered) || undefined,
    lastPollAtMs: asNumber(polled) || undefined,
    lastAttempt: text === "" ? undefined : { atMs: asNumber(attemptedAt), ...decodeAttempt(text) },
  };
}

/** Returns a function that completes the indexes of shards. */
function createCompletion(functions: Functions) {
  async function completeIndex(prefix: string): Promise<void> {
    for (let calls = 0; calls < CHECKS_MAX; calls++) {
      const isComplete = await functions.call("check_states", prefix, [String(CHECKED_AT_ONCE)]);
      if (asNumber(isComplete) === 1) return;
    }
  }

  const completing = new Map<string, Promise<void>>();
  /**
   * Completes the indexes of shards one after another, so that other calls to Redis never wait for more than one of
   * these calls. Concurrent lists share the work.
   */
  async function completeAll(prefixes: readonly string[]): Promise<void> {
    for (const prefix of prefixes) {
      const work = completing.get(prefix) ?? completeIndex(prefix).finally(() => completing.delete(prefix));
      completing.set(prefix, work);
      await work;
    }
  }
  return completeAll;
}

export function createWorkspaceStates(functions: Functions, keys: Keys): WorkspaceStates {
  const { one: readOne } = batchFunction<string, Standing | undefined>(functions, keys, {
    name: "read_states",
    most: READ_MAX,
    toArguments: (ids) => ids,
    toOutputs: (replies, ids) => asList(replies).map((reply, i) => toStanding(ids[i] ?? "", reply)),
  });

  const completeAll = createCompletion(functions);

  async function read(ids: readonly string[]): Promise<readonly Standing[]> {
    const standings = await Promise.all(ids.map((id) => readOne(keys.shard(id), id)));
    return standings.flatMap((standing) => standing ?? []);
  }

  /** Calls a function for all shards. Each answer begins with 1 if the index of the shard is complete. */
  async function ask(name: FunctionName, more: readonly string[]): Promise<readonly (readonly Reply[])[]> {
    const { prefixes, shards } = keys;
    const args = [String(Math.ceil(SETTLED_MAX / shards)), ...more];
    const calls = prefixes.map((prefix) => ({ prefix, args }));
    const answers = functions.spansShards
      ? await functions.callEach(name, calls, calls.length)
      : await Promise.all(prefixes.map((prefix) => functions.call(name, prefix, args)));
    return answers.map(asList);
  }

  /**
   * Like `ask`, but first completes the index of each shard where it is incomplete. An index is incomplete if an older
   * release created workspaces that the background check has not reached yet.
   */
  async function askComplete(name: FunctionName, args: readonly string[]) {
    const answers = await ask(name, args);
    const incomplete = keys.prefixes.filter((_, i) => asNumber(answers[i]?.[0]) === 0);
    await completeAll(incomplete);
    const complete = incomplete.length > 0 ? await ask(name, args) : answers;
    return complete.map(([, ...rest]) => rest);
  }

  return {
    async list(size, after, states, only) {
      if (after !== undefined && !PLACE_FORM.test(after)) return undefined;
      const wanted = WORKSPACE_STATES.filter((state) => states.has(state));
      const ranks = wanted.map((state) => STATE_RANKS[state]);
      const places =
        only === undefined
          ? (await askComplete("list_states", [after ?? "", String(size + 1), ...ranks])).flat().map(asText)
          : (await read([...only]))
              .filter(({ state }) => states.has(state))
              .map(toPlace)
              .filter((place) => after === undefined || place < after);
      const ordered = places.toSorted().toReversed();
      const page = ordered.slice(0, size);
      return { ids: page.map(idOf), next: ordered.length > size ? page.at(-1) : undefined };
    },
    async count(only) {
      if (only !== undefined) return countStates((await read([...only])).map(({ state }) => state));
      const ranks = WORKSPACE_STATES.map((state) => STATE_RANKS[state]);
      const shards = await askComplete("count_states", ranks);
      const sum = (i: number): number => shards.reduce((total, counts) => total + asNumber(counts[i]), 0);
      return Object.fromEntries(WORKSPACE_STATES.map((state, i) => [state, sum(i)])) as StateCounts;
    },
    async countShard(shard) {
      // This call computes no states: a state that has ended by itself is counted correctly once the watch of the shard
      // has computed the new state.
      const ranks = WORKSPACE_STATES.map((state) => STATE_RANKS[state]);
      const [isComplete, ...counts] = asList(
        await functions.call("count_states", keys.prefix(shard), ["0", ...ranks]),
      ).map(asNumber);
      if (isComplete !== 1) return undefined;
      return Object.fromEntries(WORKSPACE_STATES.map((state, i) => [state, counts[i] ?? 0])) as StateCounts;
    },
    read,
  };
}

function countStates(states: readonly WorkspaceState[]): StateCounts {
  const counts = WORKSPACE_STATES.map((state) => [state, states.filter((each) => each === state).length]);
  return Object.fromEntries(counts) as StateCounts;
}
