import type { Background } from "../background";
import type { MatrixApi } from "../client/matrix-api";
import type { NotifiedRooms } from "../notified-rooms";
import { toNotice } from "./content";
import type { DirectRoomIndex } from "./direct-rooms";
import type { RoomPowers } from "./room-powers";

export interface PowerNoticeParts {
  readonly api: Pick<MatrixApi, "send">;
  readonly powers: Pick<RoomPowers, "of">;
  readonly direct: Pick<DirectRoomIndex, "memberOf">;
  readonly told: Pick<NotifiedRooms, "isFirst">;
  readonly background: Pick<Background, "add">;
}

const NO_POWER =
  "I may not remove reactions in this room, so everybody sees who chose what. " +
  "A moderator can change that: make me a Moderator (power level 50).";

export type PowerNotice = ReturnType<typeof createPowerNotice>;

/** Tells a room once that the bridge has no power to remove the reactions of members. */
export function createPowerNotice({ api, powers, direct, told, background }: PowerNoticeParts) {
  return {
    /** Called after a message with choices was shown in a room. */
    afterQuestion(roomId: string): void {
      if (direct.memberOf(roomId) !== undefined) return;
      const txnId = `powers.${Date.now()}`;
      let mustTell: boolean | undefined;
      background.add(roomId, "powers", async (signal) => {
        // The background repeats the task if the homeserver does not answer.
        mustTell ??= !(await powers.of(roomId)).mayRedact && told.isFirst(roomId);
        if (mustTell) await api.send(roomId, "m.room.message", txnId, toNotice(NO_POWER), signal);
      });
    },
  };
}
