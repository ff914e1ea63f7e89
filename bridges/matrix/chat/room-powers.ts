import { LRUCache } from "lru-cache";
import { fieldsOf, textsOf, type Fields } from "../client/fields";
import type { MatrixApi } from "../client/matrix-api";

/** The powers that the bridge has in a room. */
export interface Powers {
  /** Whether the bridge may send messages. */
  readonly maySpeak: boolean;
  /** Whether the bridge may remove the reactions of members. */
  readonly mayRedact: boolean;
}

const ROOMS_KEPT = 10_000;
const ALL: Powers = { maySpeak: true, mayRedact: true };
/** The first room version in which the creators of a room have all powers. */
const CREATORS_SINCE = 12;

export type RoomPowers = ReturnType<typeof createRoomPowers>;

/** The bridge's powers in its rooms. Answers of the homeserver are cached: call `changed` when the powers change. */
export function createRoomPowers(api: Pick<MatrixApi, "state" | "stateEvent">, own: string) {
  const known = new LRUCache<string, Powers>({ max: ROOMS_KEPT });

  async function read(roomId: string): Promise<Powers> {
    const [levels, create] = await Promise.all([
      api.state<Fields>(roomId, "m.room.power_levels"),
      api.stateEvent(roomId, "m.room.create"),
    ]);
    return powersOf(own, fieldsOf(levels), fieldsOf(create));
  }

  return {
    /** Resolves to the powers in a room. Rejects if the homeserver does not answer, or if the bridge is not in the room. */
    async of(roomId: string): Promise<Powers> {
      const found = known.get(roomId);
      if (found !== undefined) return found;
      const powers = await read(roomId);
      known.set(roomId, powers);
      return powers;
    },
    /** Returns the powers in a room; undefined if they are not known yet. */
    known: (roomId: string): Powers | undefined => known.get(roomId),
    /** Discards the cached powers in a room. */
    changed: (roomId: string): void => void known.delete(roomId),
  };
}

/**
 * Returns the powers of an account.
 *
 * @param levels content of the room's `m.room.power_levels`
 * @param create the event `m.room.create`
 */
export function powersOf(own: string, levels: Fields, create: Fields): Powers {
  const content = fieldsOf(create["content"]);
  const creators = [create["sender"], ...textsOf(content["additional_creators"])];
  const hasCreators = Number(content["room_version"]) >= CREATORS_SINCE;
  if (hasCreators && creators.includes(own)) return ALL;

  const of = (value: unknown, fallback: number): number => Number(value ?? fallback);
  const eventLevel = (type: string): number =>
    of(fieldsOf(levels["events"])[type], of(levels["events_default"], 0));
  const level = of(fieldsOf(levels["users"])[own], of(levels["users_default"], 0));
  return {
    maySpeak: level >= eventLevel("m.room.message"),
    mayRedact: level >= of(levels["redact"], 50) && level >= eventLevel("m.room.redaction"),
  };
}
