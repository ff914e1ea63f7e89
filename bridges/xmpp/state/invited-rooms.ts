import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceDurably } from "chat-bridge-kit/durable-file";
import type { Logger } from "chat-bridge-runner";
import type { WantedRoom } from "../settings";

export type InvitedRooms = ReturnType<typeof invitedRooms>;

/**
 * The file with the rooms to which the bridge was invited. Only the owner can read the file, because it contains
 * passwords.
 */
export function invitedRooms(folder: string, log: Logger) {
  const path = join(folder, "rooms.json");
  let saving = Promise.resolve();
  return {
    /** Returns the saved rooms, or an empty list if the file does not exist or is damaged. */
    load(): readonly WantedRoom[] {
      try {
        const rooms = JSON.parse(readFileSync(path, "utf8")) as readonly WantedRoom[];
        return rooms.flatMap(({ jid, password }) => (typeof jid === "string" ? [{ jid, password }] : []));
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== "ENOENT") {
          log.error({ err }, "the list of invited rooms cannot be read: invite the bridge again");
        }
        return [];
      }
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
