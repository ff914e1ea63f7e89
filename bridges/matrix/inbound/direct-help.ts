import { displayName } from "chat-bridge-kit";
import type { BridgeSettings } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import type { Background } from "../background";
import { toNotice } from "../chat/content";
import type { MatrixApi } from "../client/matrix-api";
import type { RoomList } from "../room-list";
import type { Names } from "./names";

export interface DirectHelpParts {
  readonly api: Pick<MatrixApi, "send" | "state">;
  readonly rooms: Pick<RoomList, "ids">;
  readonly names: Pick<Names, "ofRoom">;
  readonly background: Pick<Background, "add">;
  readonly typing: Pick<BridgeSettings, "COMMAND_PREFIX" | "COMMAND_WORD">;
}

/** Minimum milliseconds between two explanations for a member. */
const EXPLAIN_EVERY_MS = 60_000;
const MEMBERS_KEPT = 1_000;
/** Maximum number of rooms that are searched for a member, and of rooms that an explanation names. */
const ROOMS_SEARCHED = 50;
const ROOMS_NAMED = 3;
const NAME_MAX = 60;

export type DirectHelp = ReturnType<typeof createDirectHelp>;

/**
 * Tells members who write in a direct room where they can play games. Names only rooms that the member has joined.
 */
export function createDirectHelp({ api, rooms, names, background, typing }: DirectHelpParts) {
  const explained = new LRUCache<string, true>({ max: MEMBERS_KEPT, ttl: EXPLAIN_EVERY_MS });
  const command = `${typing.COMMAND_PREFIX}${typing.COMMAND_WORD}`;

  async function isIn(roomId: string, user: string): Promise<boolean> {
    const member = await api
      .state<{ membership: string }>(roomId, "m.room.member", user)
      .catch(() => undefined);
    return member?.membership === "join";
  }

  async function sharedRooms(user: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const roomId of rooms.ids().slice(0, ROOMS_SEARCHED)) {
      if (found.length === ROOMS_NAMED) break;
      if (!(await isIn(roomId, user))) continue;
      const name = displayName((await names.ofRoom(roomId)) ?? "", "").replaceAll(/\s+/g, " ");
      found.push(name === "" ? "a room without a name" : name.slice(0, NAME_MAX));
    }
    return found;
  }

  return {
    /** Answers an event in a direct room. `why` is the first sentence of the answer. */
    explain(roomId: string, user: string, eventId: string, why: string): void {
      if (explained.has(user)) return;
      explained.set(user, true);
      background.add(roomId, `explain ${user}`, async (signal) => {
        const shared = await sharedRooms(user);
        const where =
          shared.length > 0
            ? `To play, type ${command} in ${shared.join(" or ")}.`
            : `To play, invite me to a room, and type ${command} there.`;
        const content = {
          ...toNotice(`${why} ${where}`),
          "m.relates_to": { "m.in_reply_to": { event_id: eventId } },
        };
        await api.send(roomId, "m.room.message", `${eventId}.help`, content, signal);
      });
    },
  };
}
