import { RESPONSE_MAX_BYTES } from "../../contract/deliveries";
import type { ResponseStart } from "../domain/delivery";

/** Collects the start of a body while the body arrives. */
export type BodyStart = ReturnType<typeof createBodyStart>;

export function createBodyStart() {
  const start = Buffer.alloc(RESPONSE_MAX_BYTES);
  let size = 0;
  let isTruncated = false;
  return {
    /** Whether the body is longer than the collected bytes. */
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
     * Returns the collected bytes, or undefined if there are none.
     *
     * @param isOver whether no more bytes of the body can arrive
     */
    read(isOver: boolean): ResponseStart | undefined {
      if (size === 0) return undefined;
      return { bytes: start.subarray(0, size), isTruncated: isTruncated || !isOver };
    },
  };
}

/**
 * Parses the next bytes of a body. If the body ends within `bytes`, returns how many of the bytes belong to the body.
 * Otherwise returns "more", or "broken" if the body is invalid. Adds the content to `start`, if `start` is given.
 */
export type BodyReader = (bytes: Buffer, start: BodyStart | undefined) => number | "more" | "broken";

/** Reader of a body that ends when the connection is closed. */
export const untilClose: BodyReader = (bytes, start) => {
  start?.add(bytes);
  return "more";
};

/** Returns a reader for a body of `length` bytes. */
export function fixedBody(length: number): BodyReader {
  let left = length;
  return (bytes, start) => {
    const end = left;
    start?.add(bytes.subarray(0, end));
    left -= bytes.length;
    return left > 0 ? "more" : end;
  };
}

const LINE_FEED = 0x0a;
/** Matches a header line, or a line of the trailer after a chunked body. */
export const FIELD_LINE = /^([!#$%&'*+\-.^_`|~\w]+):([\t\x20-\x7e\x80-\xff]*)$/;
const CHUNK_LINE = /^([\da-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n$/i;

/** Returns a reader for a chunked body and its trailer (RFC 9112, section 7.1). */
export function chunkedBody(): BodyReader {
  let expects: "size" | "end of data" | "trailer" = "size";
  let dataLeft = 0;
  let line = "";
  return (bytes, start) => {
    let at = 0;
    while (at < bytes.length) {
      if (dataLeft > 0) {
        const taken = Math.min(dataLeft, bytes.length - at);
        start?.add(bytes.subarray(at, at + taken));
        dataLeft -= taken;
        at += taken;
        continue;
      }
      const lineEnd = bytes.indexOf(LINE_FEED, at) + 1;
      line += bytes.toString("latin1", at, lineEnd === 0 ? bytes.length : lineEnd);
      if (lineEnd === 0) return "more";
      at = lineEnd;
      const whole = line;
      line = "";
      if (expects === "size") {
        const [, size] = CHUNK_LINE.exec(whole) ?? [];
        if (size === undefined) return "broken";
        dataLeft = Number.parseInt(size, 16);
        expects = dataLeft === 0 ? "trailer" : "end of data";
      } else if (!whole.endsWith("\r\n")) {
        return "broken";
      } else if (expects === "trailer") {
        if (whole === "\r\n") return at;
        if (!FIELD_LINE.test(whole.slice(0, -2))) return "broken";
      } else {
        if (whole !== "\r\n") return "broken";
        expects = "size";
      }
    }
    return "more";
  };
}
