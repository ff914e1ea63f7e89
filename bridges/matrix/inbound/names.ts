import { LRUCache } from "lru-cache";
import type { MatrixEvent } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";

const NAMES_KEPT = 10_000;

export type Names = ReturnType<typeof createNames>;

/** The display names of members and rooms. */
export function createNames(api: Pick<MatrixApi, "state">) {
  /** The name of each member and room; "" if there is no name. */
  const known = new LRUCache<string, string>({ max: NAMES_KEPT });

  async function find(key: string, fetched: () => Promise<unknown>): Promise<string> {
    const found = known.get(key);
    if (found !== undefined) return found;
    // A report does not wait for retries. After a failure, the report is sent without a name, and the next report asks
    // for the name again.
    const name = await fetched().catch(() => undefined);
    if (typeof name === "string") known.set(key, name);
    return typeof name === "string" ? name : "";
  }

  return {
    /** Resolves to the display name of a member in a room, or else to the name in the member's id. */
    async ofMember(roomId: string, userId: string): Promise<string> {
      const fetched = () =>
        api
          .state<{ displayname: string }>(roomId, "m.room.member", userId)
          .then((state) => state?.displayname ?? "");
      return (await find(`${roomId} ${userId}`, fetched)) || localName(userId);
    },
    /** Resolves to the name of a room; undefined if the room has none, or if the homeserver does not answer. */
    async ofRoom(roomId: string): Promise<string | undefined> {
      const fetched = () =>
        api.state<{ name: string }>(roomId, "m.room.name").then((state) => state?.name ?? "");
      return (await find(roomId, fetched)) || undefined;
    },
    /** Returns the name of a room; undefined if the room has none, or if its name was not read yet. */
    known: (roomId: string): string | undefined => known.get(roomId) || undefined,
    /** Reads the names in a state event. */
    read(roomId: string, { type, state_key: key, content }: MatrixEvent): void {
      if (type === "m.room.name") known.set(roomId, textOf(content["name"]));
      if (type === "m.room.member") known.set(`${roomId} ${key}`, textOf(content["displayname"]));
    },
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns "ann" for "@ann:example.org". */
function localName(userId: string): string {
  return userId.slice(1).split(":")[0] ?? userId;
}
