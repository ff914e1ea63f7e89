import { CannotShow } from "chat-bridge-kit";
import { LRUCache } from "lru-cache";
import type { MatrixApi } from "../client/matrix-api";

/** The encryption of a room, and the members whose devices get the keys of its messages. */
export interface Recipients {
  readonly members: readonly string[];
  /** The room's limits after which a key is replaced; undefined for the defaults of the library. */
  readonly rotationMs: number | undefined;
  readonly rotationMessages: number | undefined;
}

/** Maximum number of members of an encrypted room. The key of a message is encrypted for each device of each member. */
export const MEMBERS_MAX = 500;
/** Maximum number of members, in all rooms, that are cached. */
const MEMBERS_KEPT = 100_000;
const ALGORITHM = "m.megolm.v1.aes-sha2";

/** The types of state events that change the recipients of a room. */
const CHANGING = ["m.room.member", "m.room.encryption", "m.room.history_visibility"];

/** Reads the recipients of rooms from the homeserver, and caches them until the room changes. */
export function createRecipients(api: Pick<MatrixApi, "members" | "state">) {
  const known = new LRUCache<string, Recipients>({
    maxSize: MEMBERS_KEPT,
    sizeCalculation: ({ members }) => members.length + 1,
  });
  let changes = 0;

  async function read(roomId: string): Promise<Recipients> {
    const [encryption, visibility, members] = await Promise.all([
      api.state<Record<string, unknown>>(roomId, "m.room.encryption"),
      api.state<{ history_visibility: string }>(roomId, "m.room.history_visibility"),
      api.members(roomId),
    ]);
    if (encryption?.["algorithm"] !== ALGORITHM) {
      throw new CannotShow(
        `the room's encryption is not ${ALGORITHM}, which is the only one that the bridge supports`,
      );
    }
    // A member who accepts an invite later, e.g. to a direct room, can then read the messages since the invite.
    const isForInvited = visibility?.history_visibility !== "joined";
    const recipients = members
      .filter(({ membership }) => membership === "join" || (membership === "invite" && isForInvited))
      .map(({ id }) => id);
    if (recipients.length > MEMBERS_MAX) {
      throw new CannotShow(`the encrypted room has more than ${MEMBERS_MAX} members`);
    }
    return {
      members: recipients,
      rotationMs: numberOf(encryption["rotation_period_ms"]),
      rotationMessages: numberOf(encryption["rotation_period_msgs"]),
    };
  }

  return {
    async of(roomId: string): Promise<Recipients> {
      const found = known.get(roomId);
      if (found !== undefined) return found;
      const before = changes;
      const recipients = await read(roomId);
      // If the room has changed in the meantime, the answers may be from before the change.
      if (changes === before) known.set(roomId, recipients);
      return recipients;
    },
    /** Called with the type of each new state event of a room. */
    changed(roomId: string, type: string): void {
      if (!CHANGING.includes(type)) return;
      changes += 1;
      known.delete(roomId);
    },
    /** Called when state events may have been missed. */
    allChanged(): void {
      changes += 1;
      known.clear();
    },
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 && Number.isSafeInteger(value) ? value : undefined;
}
