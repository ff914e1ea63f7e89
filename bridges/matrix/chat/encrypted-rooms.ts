import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";

/** Whether rooms are encrypted. Encryption cannot be turned off again. */
export interface EncryptedRooms {
  isEncrypted(roomId: string): Promise<boolean>;
  /** Notes that a room became encrypted. */
  add(roomId: string): void;
}

const ROOMS_KEPT = 10_000;

export function createEncryptedRooms(api: Pick<MatrixApi, "state">): EncryptedRooms {
  const known = new LRUCache<string, boolean>({ max: ROOMS_KEPT });
  return {
    async isEncrypted(roomId) {
      const found = known.get(roomId);
      if (found !== undefined) return found;
      const isEncrypted = (await api.state(roomId, "m.room.encryption")) !== undefined;
      known.set(roomId, isEncrypted);
      return isEncrypted;
    },
    add: (roomId) => void known.set(roomId, true),
  };
}
