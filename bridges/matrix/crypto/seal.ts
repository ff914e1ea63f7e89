import type { EncryptedRooms } from "../chat/encrypted-rooms";
import type { MatrixApi } from "../client/matrix-api";
import type { RoomCrypto } from "./room-crypto";

/**
 * Returns a function that encrypts the messages of encrypted rooms. Reactions stay unencrypted, because homeservers
 * count them, and other clients send them unencrypted, too.
 */
export function createSeal(
  crypto: Pick<RoomCrypto, "encrypt">,
  encrypted: Pick<EncryptedRooms, "isEncrypted">,
): MatrixApi["seal"] {
  return async (roomId, event, signal = NEVER) => {
    if (event.type !== "m.room.message" || !(await encrypted.isEncrypted(roomId))) return event;
    return crypto.encrypt(roomId, event, signal);
  };
}

const NEVER = new AbortController().signal;
