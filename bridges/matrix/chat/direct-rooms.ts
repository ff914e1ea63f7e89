import { LRUCache } from "lru-cache";
import type { DirectRooms } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";

const ROOMS_KEPT = 10_000;

export type DirectRoomIndex = ReturnType<typeof createDirectRooms>;

type DirectApi = Pick<MatrixApi, "directRooms" | "setDirectRooms" | "createDirectRoom" | "state">;

/** Resolves to whether a member can decrypt messages. */
type CanDecrypt = (userId: string, signal: AbortSignal) => Promise<boolean>;
const NOBODY_CAN: CanDecrypt = async () => false;

/**
 * The rooms of direct conversations, which the account data `m.direct` lists. Call `load` first.
 *
 * @param canDecrypt tells whether a member can decrypt messages: a new direct room with such a member is encrypted
 */
export function createDirectRooms(api: DirectApi, own: string, canDecrypt: CanDecrypt = NOBODY_CAN) {
  let rooms: DirectRooms = {};
  let memberByRoom = new Map<string, string>();
  /** Direct rooms that were checked: the bridge is in the room, and the member is in the room or invited. */
  const usable = new LRUCache<string, true>({ max: ROOMS_KEPT });
  const opening = new Map<string, Promise<string>>();
  let saving: Promise<unknown> = Promise.resolve();

  function replace(newer: DirectRooms): void {
    rooms = newer;
    memberByRoom = new Map(Object.entries(newer).flatMap(([user, ids]) => ids.map((id) => [id, user])));
  }

  async function isUsable(roomId: string, userId: string): Promise<boolean> {
    if (usable.has(roomId)) return true;
    const membership = (user: string) =>
      api
        .state<{ membership: string }>(roomId, "m.room.member", user)
        .then((state) => state?.membership)
        // The bridge is no longer in the room.
        .catch((error: unknown) => {
          if ((error as { errcode?: string }).errcode === "M_FORBIDDEN") return undefined;
          throw error;
        });
    const isIn =
      (await membership(own)) === "join" && /^(?:join|invite)$/.test((await membership(userId)) ?? "");
    if (isIn) usable.set(roomId, true);
    return isIn;
  }

  /** Adds a direct room to the list. Changes are saved one after another, because each save replaces the whole list. */
  function add(userId: string, roomId: string): Promise<void> {
    const save = async (): Promise<void> => {
      const next = { ...rooms, [userId]: [...(rooms[userId] ?? []).filter((id) => id !== roomId), roomId] };
      await api.setDirectRooms(own, next);
      replace(next);
    };
    const saved = saving.then(save);
    saving = saved.catch(() => undefined);
    return saved;
  }

  async function find(userId: string, signal: AbortSignal): Promise<string> {
    for (const roomId of (rooms[userId] ?? []).toReversed()) {
      if (await isUsable(roomId, userId)) return roomId;
    }
    const roomId = await api.createDirectRoom(userId, await canDecrypt(userId, signal), signal);
    await add(userId, roomId);
    usable.set(roomId, true);
    return roomId;
  }

  return {
    /** Reads the list from the homeserver. */
    async load(): Promise<void> {
      replace(readDirectRooms(await api.directRooms(own)));
    },
    /** Replaces the list with a newer list from the homeserver. */
    replace: (newer: DirectRooms): void => replace(readDirectRooms(newer)),
    /** Returns the member of a direct room; undefined if the room is not a direct room. */
    memberOf: (roomId: string): string | undefined => memberByRoom.get(roomId),
    /** The members of all direct rooms. */
    members: (): readonly string[] => Object.keys(rooms),
    /**
     * Resolves to the direct room with a member. Creates a room if the member has no direct room, or has left all of
     * them.
     */
    open(userId: string, signal: AbortSignal): Promise<string> {
      const found = opening.get(userId) ?? find(userId, signal).finally(() => opening.delete(userId));
      opening.set(userId, found);
      return found;
    },
    add,
    /** Discards the cached check of a room, because a membership changed. */
    membershipChanged: (roomId: string): void => void usable.delete(roomId),
  };
}

/** Returns only the well-formed lists, because other clients of the account can write any content. */
function readDirectRooms(content: DirectRooms | undefined): DirectRooms {
  const lists = Object.entries(content ?? {}).filter(([, list]) => Array.isArray(list));
  return Object.fromEntries(lists.map(([user, list]) => [user, list.filter((id) => typeof id === "string")]));
}
