/** The entries that a command on a stream (e.g. XRANGE) returned. */
export interface StreamEntries {
  /** The value of the first field of each entry. The buffers are slices of larger buffers. */
  readonly values: readonly Buffer[];
  /** The id of the last entry; undefined when there are no entries. */
  readonly lastId: string | undefined;
}

/** One reply: entries, a simple string such as OK, or the text of an error. */
export type EntriesReply =
  | { readonly is: "entries"; readonly entries: StreamEntries }
  | { readonly is: "status" }
  | { readonly is: "error"; readonly text: string };

const ARRAY = 0x2a; // *
const BULK = 0x24; // $
const STATUS = 0x2b; // +
const ERROR = 0x2d; // -
const CR = 0x0d;
const ZERO = 0x30;
const NINE = 0x39;
const NO_BYTES = Buffer.alloc(0);
/** Bytes of `\r\n`. */
const END_BYTES = 2;
/** Number of bytes of a new chunk that are at first appended to the unread bytes of the previous chunks. */
const JOINED_BYTES = 1_024;

/**
 * Decodes the replies of a connection that only reads entries of streams (RESP2). Creates one buffer per entry. The
 * Redis library creates a buffer for each id, field and value, and takes eight times as long to decode a page.
 *
 * A chunk from the connection may end in the middle of an entry. Complete entries are decoded immediately. An
 * incomplete entry is decoded from its start when more bytes have arrived.
 */
export class EntriesDecoder {
  readonly #onReply: (reply: EntriesReply) => void;
  #bytes: Buffer = NO_BYTES;
  /** Position after the last decoded entry or reply in `#bytes`. */
  #at = 0;
  /** Current position in `#bytes` while an entry or a reply is decoded. */
  #next = 0;
  /** The values that were decoded from the current reply, the last id, and the number of entries still to decode. */
  #values: Buffer[] | undefined;
  #lastId: string | undefined;
  #left = 0;

  constructor(onReply: (reply: EntriesReply) => void) {
    this.#onReply = onReply;
  }

  /** Decodes the next chunk. Throws a TypeError if a reply is not a list of entries, a simple string or an error. */
  write(chunk: Buffer): void {
    const unread = this.#bytes.subarray(this.#at);
    if (unread.length === 0) return this.#decodeFrom(chunk, 0);
    // Only the first bytes of the chunk are copied, because they probably complete the entry.
    for (let bytes = JOINED_BYTES; bytes < chunk.length; bytes *= 4) {
      this.#decodeFrom(Buffer.concat([unread, chunk.subarray(0, bytes)]), 0);
      if (this.#at >= unread.length) return this.#decodeFrom(chunk, this.#at - unread.length);
    }
    this.#decodeFrom(Buffer.concat([unread, chunk]), 0);
  }

  #decodeFrom(bytes: Buffer, at: number): void {
    this.#bytes = bytes;
    this.#at = at;
    this.#next = at;
    while (this.#decodeOne()) this.#at = this.#next;
  }

  /** Decodes one entry, or the start of a reply. Returns false if some of the bytes have not arrived yet. */
  #decodeOne(): boolean {
    return this.#values === undefined ? this.#decodeStart() : this.#decodeEntry(this.#values);
  }

  #decodeStart(): boolean {
    const type = this.#bytes[this.#next];
    if (type === ARRAY) {
      const count = this.#count(ARRAY);
      if (count < 0) return false;
      this.#values = [];
      this.#lastId = undefined;
      this.#left = count;
      this.#endEntries();
      return true;
    }
    if (type === undefined) return false;
    if (type !== STATUS && type !== ERROR) throw unexpected();
    const end = this.#bytes.indexOf("\r\n", this.#next, "latin1");
    if (end < 0) return false;
    const text = this.#bytes.toString("utf8", this.#next + 1, end);
    this.#next = end + END_BYTES;
    this.#onReply(type === STATUS ? { is: "status" } : { is: "error", text });
    return true;
  }

  /** Decodes an entry: its id, and a list of alternating fields and values. */
  #decodeEntry(values: Buffer[]): boolean {
    if (this.#count(ARRAY) < 0) return false;
    const idEnd = this.#skipBulk();
    if (idEnd < 0) return false;
    const idStart = this.#start;
    const count = this.#count(ARRAY);
    if (count < 0) return false;
    let [valueStart, valueEnd] = [0, 0];
    for (let i = 0; i < count; i++) {
      const end = this.#skipBulk();
      if (end < 0) return false;
      if (i === 1) [valueStart, valueEnd] = [this.#start, end];
    }
    values.push(this.#bytes.subarray(valueStart, valueEnd));
    this.#left -= 1;
    if (this.#left === 0) this.#lastId = this.#bytes.toString("latin1", idStart, idEnd);
    this.#endEntries();
    return true;
  }

  #endEntries(): void {
    if (this.#left > 0 || this.#values === undefined) return;
    const entries = { values: this.#values, lastId: this.#lastId };
    this.#values = undefined;
    this.#onReply({ is: "entries", entries });
  }

  /** Position of the first byte of the last bulk string that was skipped. */
  #start = 0;

  /**
   * Skips the bulk string at the current position, and returns where its text ends; -1 if some of its bytes have not
   * arrived yet.
   */
  #skipBulk(): number {
    const length = this.#count(BULK);
    if (length < 0) return -1;
    const end = this.#next + length;
    if (end + END_BYTES > this.#bytes.length) return -1;
    this.#start = this.#next;
    this.#next = end + END_BYTES;
    return end;
  }

  /**
   * Reads `type` and the number after it at the current position, and returns the number; -1 if some of the bytes have
   * not arrived yet.
   */
  #count(type: number): number {
    const bytes = this.#bytes;
    let at = this.#next;
    if (at >= bytes.length) return -1;
    if (bytes[at] !== type) throw unexpected();
    let count = 0;
    for (at += 1; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === CR) {
        if (at + END_BYTES > bytes.length) return -1;
        this.#next = at + END_BYTES;
        return count;
      }
      if (byte < ZERO || byte > NINE) throw unexpected();
      count = count * 10 + byte - ZERO;
    }
    return -1;
  }
}

function unexpected(): TypeError {
  return new TypeError("Redis returned a reply in an unexpected form");
}
