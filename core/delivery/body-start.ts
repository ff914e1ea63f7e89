import { RESPONSE_MAX_BYTES } from "../../contract/deliveries";
import type { ResponseStart } from "../domain/delivery";

/** Collects the start of a body while the body arrives. */
export type BodyStart = ReturnType<typeof createBodyStart>;

export function createBodyStart() {
  const start = Buffer.alloc(RESPONSE_MAX_BYTES);
  let size = 0;
  let isTruncated = false;
  return {
    /** Whether the body has more bytes than are collected. */
    get isTruncated() {
      return isTruncated;
    },
    /** Copies the bytes that fit. `bytes` are the next bytes of the body. */
    add(bytes: Buffer): void {
      const copied = bytes.copy(start, size);
      size += copied;
      if (copied < bytes.length) isTruncated = true;
    },
    /**
     * Returns the collected bytes; undefined when there are none.
     *
     * @param isOver whether no more bytes of the body can arrive
     */
    read(isOver: boolean): ResponseStart | undefined {
      if (size === 0) return undefined;
      return { bytes: start.subarray(0, size), isTruncated: isTruncated || !isOver };
    },
  };
}
