import { SEALED_LIMITS } from "../domain/bounds";
import type { SealedEntries, SealedEntry } from "../ports/sealed-entries";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Reply } from "./redis/redis";
import { asBytes, asList, asNumber, asText } from "./redis/reply";

function toEntry(reply: Reply): SealedEntry | undefined {
  const [sealed, expiresAtMs] = asList(reply);
  if (sealed === undefined || expiresAtMs === undefined) return undefined;
  return { sealed: asBytes(sealed), expiresAtMs: asNumber(expiresAtMs) };
}

export function createSealedEntries(functions: Functions, { registry }: Keys): SealedEntries {
  return {
    async put(kind, { id, sealed, tokenName, isLimited }) {
      const { max, idleMs, lifeMs } = SEALED_LIMITS[kind];
      const share = isLimited ? max.limitedToken : max.token;
      const numbers = [share, max.all, idleMs, lifeMs].map(String);
      const args = [kind, id, Buffer.from(sealed), tokenName, ...numbers];
      const [expiresAtMs, removedId] = asList(await functions.call("put_sealed", registry, args));
      if (expiresAtMs === undefined || removedId === undefined) return "full";
      return { expiresAtMs: asNumber(expiresAtMs), removedId: asText(removedId) || undefined };
    },
    async read(kind, id, isUse) {
      const args = [kind, id, isUse ? "1" : "0", String(SEALED_LIMITS[kind].idleMs)];
      return toEntry(await functions.call("read_sealed", registry, args));
    },
    take: async (kind, id) => toEntry(await functions.call("take_sealed", registry, [kind, id])),
  };
}
