import type { Reply } from "./redis-connection";

/** Readers of replies. A reply of another shape than the function documents is a bug, and throws. */

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

/** An integer, also one that came as digits. */
export function asNumber(reply: Reply): number {
  const number = typeof reply === "number" ? reply : Number(asText(reply));
  if (Number.isSafeInteger(number)) return number;
  throw unexpected(reply, "an integer");
}

function unexpected(reply: Reply, wanted: string): Error {
  // Never the reply itself: it may hold what must not reach a log.
  return new TypeError(`a function answered ${reply === null ? "nothing" : typeof reply}, not ${wanted}`);
}
