import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";

const ROOMS_KEPT = 10_000;

export type EncryptedRooms = ReturnType<typeof createEncryptedRooms>;

/**
 * Whether rooms are encrypted. Answers are cached: `add` is called when a room becomes encrypted, and Matrix cannot
 * turn the encryption of a room off again.
 */
export function createEncryptedRooms(api: Pick<MatrixApi, "state">) {
  const known = new LRUCache<string, boolean>({ max: ROOMS_KEPT });
  return {
    async isEncrypted(roomId: string): Promise<boolean> {
      const found = known.get(roomId);
      if (found !== undefined) return found;
      const isEncrypted = (await api.state(roomId, "m.room.encryption")) !== undefined;
      known.set(roomId, isEncrypted);
      return isEncrypted;
    },
    /** Notes that a room became encrypted. */
    add: (roomId: string): void => void known.set(roomId, true),
  };
}
