import type { Logger } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import { toNotice } from "../chat/content";
import type { DirectRoomIndex } from "../chat/direct-rooms";
import type { EncryptedRooms } from "../chat/encrypted-rooms";
import type { InvitedRoom } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";
import { joinRoom } from "../client/join-room";
import { serverOf } from "../ids";
import { createAttempts } from "./attempts";

export interface InviteParts {
  readonly api: Pick<MatrixApi, "join" | "leave" | "send">;
  readonly own: string;
  /** Servers, ids of rooms, or "*": see `mayInvite`. */
  readonly allowed: readonly string[];
  readonly direct: Pick<DirectRoomIndex, "add">;
  readonly encrypted: EncryptedRooms;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const ROOMS_NOTED = 1_000;

const NO_ENCRYPTION =
  "I cannot play in an encrypted room, because my encryption is off. " +
  "Please invite me to a room without end-to-end encryption, or ask my administrator to set MATRIX_ENCRYPTION=on " +
  "(see “Encrypted rooms” in the README of chat-bridge-matrix). I am leaving this room.";
const GAME_OVER =
  "Game over: this room is now encrypted, and my encryption is off. A game in this room ends here. " +
  "To continue, create a room without end-to-end encryption, and invite me there. I am leaving this room.";

/**
 * Returns whether the bridge accepts an invite. An entry is a server (its members may invite the bridge), the id of a
 * room (invites to the room are accepted), or "*" (all invites are accepted). If there are no entries, only members of
 * the bridge's own server may invite the bridge.
 */
export function mayInvite(
  allowed: readonly string[],
  { own, inviter, roomId }: { readonly own: string; readonly inviter: string; readonly roomId: string },
): boolean {
  if (allowed.length === 0) return serverOf(inviter) === serverOf(own);
  return allowed.some((entry) => entry === "*" || entry === roomId || entry === serverOf(inviter));
}

export type Invites = ReturnType<typeof createInvites>;

export function createInvites({ api, own, allowed, direct, encrypted, log, signal }: InviteParts) {
  const attempts = createAttempts({ log, signal });
  /** Encrypted rooms that the bridge has left since the last invite. */
  const left = new LRUCache<string, true>({ max: ROOMS_NOTED });

  /**
   * Posts a notice that the room is encrypted, and leaves the room. Rejects only when the bridge stops.
   *
   * @param hadGames whether the bridge was in the room before it was encrypted
   */
  async function leaveEncrypted(roomId: string, hadGames: boolean): Promise<void> {
    if (left.has(roomId)) return;
    left.set(roomId, true);
    log.warn({ roomId }, "left a room: it is encrypted, and MATRIX_ENCRYPTION is off");
    const txnId = `encrypted.${Date.now()}`;
    const say = () =>
      api.send(roomId, "m.room.message", txnId, toNotice(hadGames ? GAME_OVER : NO_ENCRYPTION));
    await attempts.untilAnswered("send a notice to an encrypted room", roomId, say);
    await attempts.untilAnswered("leave an encrypted room", roomId, () => api.leave(roomId));
  }

  /**
   * Leaves a joined room if it is encrypted, and the encryption is off. Resolves to whether the bridge is still in the
   * room. Rejects only when the bridge stops.
   */
  async function settle(roomId: string): Promise<boolean> {
    const read = () => encrypted.isEncrypted(roomId);
    const found = await attempts.untilAnswered("read whether a room is encrypted", roomId, read);
    if (found?.value !== true || encrypted.isSupported) return true;
    await leaveEncrypted(roomId, false);
    return false;
  }

  return {
    /** Called when a room turns its encryption on. Rejects only when the bridge stops. */
    async encrypted(roomId: string): Promise<void> {
      await encrypted.add(roomId);
      if (encrypted.isSupported) log.info({ roomId }, "the encryption of a room is on");
      else await leaveEncrypted(roomId, true);
    },
    settle,
    /**
     * Joins the room, or rejects the invite. Resolves to whether the bridge has joined. Rejects only when the bridge
     * stops.
     *
     * @param isExpected whether the room replaces a room that the bridge is in
     */
    async answer(roomId: string, { invite_state: state }: InvitedRoom, isExpected = false): Promise<boolean> {
      const invite = state?.events?.find(
        (event) =>
          event.type === "m.room.member" &&
          event.state_key === own &&
          event.content["membership"] === "invite",
      );
      const inviter = invite?.sender ?? "";
      if (!isExpected && !mayInvite(allowed, { own, inviter, roomId })) {
        log.warn(
          { roomId, server: serverOf(inviter) },
          "rejected an invite: MATRIX_ALLOW_INVITES does not allow it",
        );
        await attempts.untilAnswered("reject an invite", roomId, () => api.leave(roomId));
        return false;
      }
      left.delete(roomId);
      const join = () => joinRoom(api, roomId, { signal });
      if ((await attempts.once("join a room", roomId, join)) === undefined) return false;
      log.info({ roomId }, "joined a room");
      if (!(await settle(roomId))) return false;
      if (invite?.content["is_direct"] === true) {
        await attempts.untilAnswered("save a direct room", roomId, () => direct.add(inviter, roomId));
      }
      return true;
    },
  };
}
