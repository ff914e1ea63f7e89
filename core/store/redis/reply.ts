import type { Reply } from "./connection";

/**
 * These functions convert Redis replies, and throw a TypeError for a reply of an unexpected type, because only a bug
 * causes such a reply.
 */

export function asList(reply: Reply): readonly Reply[] {
  if (Array.isArray(reply)) return reply as readonly Reply[];
  throw unexpected(reply, "a list");
}

export function asBytes(reply: Reply): Buffer {
  if (Buffer.isBuffer(reply)) return reply;
  throw unexpected(reply, "bytes");
}

export function asText(reply: Reply): string {
  return typeof reply === "string" ? reply : asBytes(reply).toString("utf8");
}

/** Returns an integer. The reply may be a number, or a string of digits. */
export function asNumber(reply: Reply): number {
  const number = typeof reply === "number" ? reply : Number(asText(reply));
  if (Number.isSafeInteger(number)) return number;
  throw unexpected(reply, "an integer");
}

/** Returns the reply as a string, which must be one of `known`. */
export function asOneOf<Known extends string>(reply: Reply, known: readonly Known[]): Known {
  const text = asText(reply) as Known;
  if (known.includes(text)) return text;
  throw new TypeError(`Redis returned a text other than ${known.join(", ")}`);
}

/** Returns a list of ids of workspaces, each followed by the version of the workspace, as a map. */
export function asVersions(reply: Reply): ReadonlyMap<string, number> {
  const items = asList(reply);
  const versions = new Map<string, number>();
  for (let i = 0; i < items.length; i += 2) versions.set(asText(items[i]), asNumber(items[i + 1]));
  return versions;
}

function unexpected(reply: Reply, wanted: string): Error {
  // The message never contains the reply, which may contain data that must not be logged.
  return new TypeError(`Redis returned ${reply === null ? "nothing" : typeof reply} instead of ${wanted}`);
}
