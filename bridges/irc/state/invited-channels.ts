import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isChannelName, type WantedChannel } from "../connection/channel-list";

/** Loads and saves the channels that the bridge joined because of an invitation, in a file of the state folder. */
export function invitedChannels(folder: string) {
  const path = join(folder, "channels.json");
  return {
    /** Returns the saved channels; none if the file does not exist or is damaged. */
    load(): readonly WantedChannel[] {
      try {
        const names = JSON.parse(readFileSync(path, "utf8")) as unknown;
        const known = Array.isArray(names) ? names : [];
        return known
          .filter((name): name is string => typeof name === "string" && isChannelName(name))
          .map((name) => ({ name, key: undefined }));
      } catch {
        return [];
      }
    },
    save(names: readonly string[]): void {
      writeFileSync(`${path}.new`, JSON.stringify(names), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    },
  };
}
