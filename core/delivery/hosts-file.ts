import { closeSync, openSync, readSync, statSync } from "node:fs";
import ipaddr from "ipaddr.js";

/** Maximum number of bytes of the hosts file that core reads. Further lines are ignored. */
export const HOSTS_FILE_MAX_BYTES = 256 * 1024;
/** Milliseconds after which core checks again whether the file has changed. */
const CHECK_EVERY_MS = 1_000;

/**
 * Reads the system's hosts file, and reads the file again when the file has changed. A file that cannot be read counts
 * as empty.
 *
 * @param now monotonic time in milliseconds
 */
export function createHostsFile(path = "/etc/hosts", now: () => number = () => performance.now()) {
  let names: ReadonlyMap<string, readonly string[]> = new Map();
  let version = "";
  let checkedAt = -Infinity;

  /** The file is local and small, so the synchronous calls take only microseconds. */
  function refresh(): void {
    if (now() - checkedAt < CHECK_EVERY_MS) return;
    checkedAt = now();
    try {
      const { ino, size, mtimeMs } = statSync(path);
      const found = `${ino} ${size} ${mtimeMs}`;
      if (found === version) return;
      names = parseHosts(readStart(path));
      version = found;
    } catch {
      names = new Map();
      version = "";
    }
  }

  return {
    /**
     * Returns the addresses of `name`, which must be in lower case. Returns an empty list if the file does not contain
     * the name.
     */
    addresses(name: string): readonly string[] {
      refresh();
      return names.get(name.replace(/\.$/, "")) ?? [];
    },
  };
}

/**
 * Parses the text of a hosts file, and returns the addresses of each name. Invalid lines are ignored (see `man 5
 * hosts`).
 */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...aliases] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (!ipaddr.isValid(address)) continue;
    for (const alias of new Set(aliases.map((each) => each.toLowerCase()))) {
      const addresses = names.get(alias);
      if (addresses === undefined) names.set(alias, [address]);
      else if (!addresses.includes(address)) addresses.push(address);
    }
  }
  return names;
}

/** Returns the first `HOSTS_FILE_MAX_BYTES` of a file, without a line that this limit would cut off. */
function readStart(path: string): string {
  const bytes = Buffer.alloc(HOSTS_FILE_MAX_BYTES + 1);
  const file = openSync(path, "r");
  try {
    let end = 0;
    for (let read = -1; read !== 0 && end < bytes.length; end += read) {
      read = readSync(file, bytes, end, bytes.length - end, null);
    }
    if (end <= HOSTS_FILE_MAX_BYTES) return bytes.toString("utf8", 0, end);
    return bytes.toString("utf8", 0, bytes.lastIndexOf("\n", HOSTS_FILE_MAX_BYTES) + 1);
  } finally {
    closeSync(file);
  }
}
