import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";

const ROOMS_KEPT = 10_000;

export type EncryptedRooms = ReturnType<typeof createEncryptedRooms>;

/** The bridge's encryption: see `RoomCrypto`. */
export interface EncryptionNotes {
  /** Whether the bridge has noted that a room is encrypted. */
  isNoted(roomId: string): Promise<boolean>;
  note(roomId: string): Promise<void>;
}

/**
 * Whether rooms are encrypted. Answers are cached: `add` is called when a room becomes encrypted, and Matrix cannot
 * turn the encryption of a room off again.
 *
 * @param crypto undefined if the bridge does not support encrypted rooms
 */
export function createEncryptedRooms(api: Pick<MatrixApi, "state">, crypto?: EncryptionNotes) {
  const known = new LRUCache<string, boolean>({ max: ROOMS_KEPT });
  return {
    /** Whether the bridge can read and write in encrypted rooms. */
    isSupported: crypto !== undefined,
    async isEncrypted(roomId: string): Promise<boolean> {
      const found = known.get(roomId);
      if (found !== undefined) return found;
      const isNoted = (await crypto?.isNoted(roomId)) ?? false;
      const isEncrypted = isNoted || (await api.state(roomId, "m.room.encryption")) !== undefined;
      if (isEncrypted && !isNoted) await crypto?.note(roomId);
      known.set(roomId, isEncrypted);
      return isEncrypted;
    },
    /** Notes that a room became encrypted. */
    async add(roomId: string): Promise<void> {
      known.set(roomId, true);
      await crypto?.note(roomId);
    },
  };
}
