import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Maximum length of an id in the contract. Matrix ids have up to 255 bytes. */
const ID_MAX = 128;
const LONG_IDS_KEPT = 10_000;

/** Returns an id for the service: the Matrix id itself, or a digest of an id that is too long. */
export function shortId(matrixId: string): string {
  if (matrixId.length <= ID_MAX) return matrixId;
  return `${matrixId.slice(0, 1)}sha256:${createHash("sha256").update(matrixId).digest("base64url")}`;
}

export type Ids = ReturnType<typeof createIds>;

/** Translates Matrix ids of rooms and members into the ids that the service gets, and back. */
export function createIds() {
  const long = new LRUCache<string, string>({ max: LONG_IDS_KEPT });
  return {
    /** Returns the service's id. If the id is a digest, stores the Matrix id for `toMatrix`. */
    toService(matrixId: string): string {
      const id = shortId(matrixId);
      if (id !== matrixId) long.set(id, matrixId);
      return id;
    },
    /** Returns the Matrix id. An unknown digest, e.g. after a restart, is returned unchanged. */
    toMatrix: (serviceId: string): string => long.get(serviceId) ?? serviceId,
  };
}

/** Returns the server of a Matrix id, e.g. "example.org" for "@ann:example.org"; "" if the id names no server. */
export function serverOf(matrixId: string): string {
  const at = matrixId.indexOf(":");
  return at === -1 ? "" : matrixId.slice(at + 1);
}
