import type { RoomState } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import type { DirectRoomIndex } from "./chat/direct-rooms";
import type { RoomPowers } from "./chat/room-powers";
import type { Ids } from "./ids";
import type { Names } from "./inbound/names";

export interface RoomListParts {
  readonly direct: Pick<DirectRoomIndex, "memberOf">;
  readonly powers: Pick<RoomPowers, "of" | "known">;
  readonly names: Pick<Names, "ofRoom" | "known">;
  readonly ids: Pick<Ids, "toService">;
}

const ROOMS_KEPT = 10_000;
/**
 * Maximum number of rooms whose names and powers are read at the start. The names and powers of other rooms are read
 * when needed.
 */
const ROOMS_READ = 200;

const MUTED = "the bridge may not send messages here: raise the power level of its account";
const NO_REDACTIONS = "the bridge may not remove reactions here: everybody sees who chose what";

/** The rooms that the bridge is in, except direct rooms. */
export class RoomList {
  readonly #parts: RoomListParts;
  readonly #joined = new LRUCache<string, true>({ max: ROOMS_KEPT });

  constructor(parts: RoomListParts) {
    this.#parts = parts;
  }

  joined(roomId: string): void {
    this.#joined.set(roomId, true);
  }

  left(roomId: string): void {
    this.#joined.delete(roomId);
  }

  /** Returns the ids of the rooms, the most recently active first. */
  ids(): readonly string[] {
    return [...this.#joined.keys()].filter((roomId) => this.#parts.direct.memberOf(roomId) === undefined);
  }

  /** Reads the names and powers of the rooms, one room at a time. Ignores failures: the next message reads them again. */
  async read(signal: AbortSignal): Promise<void> {
    for (const roomId of this.ids().slice(0, ROOMS_READ)) {
      if (signal.aborted) return;
      await this.readRoom(roomId);
    }
  }

  async readRoom(roomId: string): Promise<void> {
    const { powers, names } = this.#parts;
    await Promise.all([powers.of(roomId).catch(() => undefined), names.ofRoom(roomId)]);
  }

  states(): readonly RoomState[] {
    const { powers, names, ids } = this.#parts;
    return this.ids().map((roomId) => {
      const known = powers.known(roomId);
      return {
        id: ids.toService(roomId),
        name: names.known(roomId) ?? roomId,
        problem: known?.maySpeak === false ? MUTED : undefined,
        ...(known?.mayRedact === false && { note: NO_REDACTIONS }),
      };
    });
  }
}
