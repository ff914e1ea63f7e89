import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceDurably } from "chat-bridge-kit/durable-file";
import type { Logger } from "chat-bridge-runner";
import type { WantedRoom } from "../settings";

export type InvitedRooms = ReturnType<typeof invitedRooms>;

/** The file with the rooms to which the bridge was invited. Only the owner can read the file, because of passwords. */
export function invitedRooms(folder: string, log: Logger) {
  const path = join(folder, "rooms.json");
  let saving = Promise.resolve();
  return {
    load(): readonly WantedRoom[] {
      let text: string;
      try {
        text = readFileSync(path, "utf8");
      } catch {
        return [];
      }
      const rooms = JSON.parse(text) as readonly Partial<WantedRoom>[];
      return rooms.flatMap(({ jid, password }) => (jid === undefined ? [] : [{ jid, password }]));
    },
    save(rooms: readonly WantedRoom[]): void {
      const text = `${JSON.stringify(rooms, undefined, 2)}\n`;
      mkdirSync(folder, { recursive: true });
      saving = saving
        .then(() => replaceDurably(path, text))
        .catch((err: unknown) => log.error({ err }, "the list of invited rooms was not saved"));
    },
  };
}
