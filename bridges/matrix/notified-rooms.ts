import { LRUCache } from "lru-cache";
import type { StateFile } from "./state-file";

const ROOMS_KEPT = 1_000;

export type NotifiedRooms = ReturnType<typeof createNotifiedRooms>;

/** The rooms in which the bridge has already sent a notice that it sends only once. Call `load` first. */
export function createNotifiedRooms(file: StateFile<readonly string[]>, onFailure: (error: unknown) => void) {
  const told = new LRUCache<string, true>({ max: ROOMS_KEPT });
  let saving: Promise<unknown> = Promise.resolve();
  return {
    async load(): Promise<void> {
      for (const roomId of (await file.load()) ?? []) told.set(roomId, true);
    },
    /** Returns true only at the first call for a room, even across restarts. */
    isFirst(roomId: string): boolean {
      if (told.has(roomId)) return false;
      told.set(roomId, true);
      // If the save fails, the next run of the bridge sends the notice again.
      saving = saving.then(() => file.save([...told.keys()])).catch(onFailure);
      return true;
    },
  };
}
