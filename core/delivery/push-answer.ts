import {
  chunkedBody,
  createBodyStart,
  FIELD_LINE,
  fixedBody,
  untilClose,
  type BodyReader,
  type BodyStart,
} from "./answer-body";

/**
 * Maximum total size in bytes of all heads of an answer, including the heads of interim answers. A head is a status
 * line with its headers.
 */
const HEADS_MAX_BYTES = 16 * 1024;
/** Maximum number of bytes of an answer's body that core reads. */
const BODY_MAX_BYTES = 16 * 1024;

/** The answer to a request, parsed as the bytes arrive. */
export interface Answer {
  /**
   * `head` until the final head is complete, then `body` while core expects more of the body. After the body, `ended`
   * if the connection can carry another request, or `spent` if core must close the connection without reading more.
   */
  readonly state: "head" | "body" | "ended" | "spent";
  /** The status of the final head; 0 until the head is complete. */
  readonly status: number;
  /** Milliseconds for which the bridge keeps an idle connection; undefined when the answer states no such limit. */
  readonly keepAliveMs: number | undefined;
  /**
   * The start of the body, for the log; undefined until the head is complete, and always undefined for a 2xx status.
   */
  readonly bodyStart: BodyStart | undefined;
  /**
   * Parses the next bytes, and does not keep them. Throws an Error when a head is invalid. An invalid body only sets the
   * state to `spent`.
   */
  read(bytes: Buffer): void;
}

interface Head {
  readonly status: number;
  /** Returns a reader of the body. */
  readonly createBody: () => BodyReader;
  /** Whether the connection can be reused for another request after the body. */
  readonly isReusable: boolean;
  readonly keepAliveMs: number | undefined;
}

/** The result of parsing a head. `head` is undefined for an interim answer. */
interface ReadHead {
  readonly head: Head | undefined;
  /** Whether a line ends with a bare line feed. */
  readonly hasBareLineFeed: boolean;
}

/**
 * Creates the parser of the answer to a push. The parser skips interim answers, and accepts folded headers and
 * repeated, equal `Content-Length` values, as RFC 9112 specifies. The body of a 2xx answer is read only to find its
 * end. For other statuses, the parser also collects the start of the body. If the end of a body is ambiguous or more
 * bytes follow, the connection must be closed. Otherwise core could mistake the remaining bytes for the answer to the
 * next push (response smuggling).
 */
export function createAnswer(): Answer {
  // `answer` has plain properties instead of getters, because every push creates an answer, and creating a getter
  // costs more than parsing a head.
  const answer = {
    state: "head" as Answer["state"],
    status: 0,
    keepAliveMs: undefined as number | undefined,
    bodyStart: undefined as BodyStart | undefined,
    read,
  };
  let head: Head | undefined;
  let body: BodyReader | undefined;
  let unread: Buffer = NOTHING;
  let headsBytes = 0;
  let bodyBytes = 0;
  /**
   * Whether a line of a head ends with a bare line feed. If a line does, core closes the connection after the answer.
   */
  let hasBareLineFeed = false;

  /** Returns the bytes after the final head, or undefined while the head is incomplete. */
  function skipHeads(bytes: Buffer): Buffer | undefined {
    // `unread` was already searched and does not contain `HEAD_END`, but may end with the first bytes of
    // `HEAD_END`.
    let from = Math.max(0, unread.length - HEAD_END.length);
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
    for (; head === undefined; from = 0) {
      const end = findHeadEnd(unread, from);
      if (headsBytes + (end ?? unread.length) > HEADS_MAX_BYTES)
        throw new Error("more than 16 KB of headers");
      if (end === undefined) {
        checkStatusLine(unread);
        unread = Buffer.from(unread);
        return undefined;
      }
      const read = recallHead(unread.toString("latin1", 0, end));
      hasBareLineFeed ||= read.hasBareLineFeed;
      head = read.head;
      headsBytes += end;
      unread = end === unread.length ? NOTHING : unread.subarray(end);
    }
    return unread;
  }

  function readBody({ createBody, isReusable }: Head, bytes: Buffer): Answer["state"] {
    body ??= createBody();
    const end = body(bytes, answer.bodyStart);
    if (end === "more") {
      bodyBytes += bytes.length;
      return bodyBytes > BODY_MAX_BYTES ? "spent" : "body";
    }
    return isReusable && !hasBareLineFeed && end === bytes.length ? "ended" : "spent";
  }

  function read(bytes: Buffer): void {
    const rest = head === undefined ? skipHeads(bytes) : bytes;
    if (rest === undefined || head === undefined) return;
    answer.status = head.status;
    answer.keepAliveMs = head.keepAliveMs;
    if (head.status >= 300) answer.bodyStart ??= createBodyStart();
    answer.state = readBody(head, rest);
  }
  return answer;
}

const NOTHING = Buffer.alloc(0);
/** The last bytes of a head: the end of a line, and an empty line. */
const HEAD_END = Buffer.from("\n\r\n");
const BARE_HEAD_END = Buffer.from("\n\n");
const BARE_LINE_FEED = /(?<!\r)\n/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const OUTER_SPACE = /^[\t ]+|[\t ]+$/g;
const FOLD = /\n[\t ]+/g;
const KEEP_ALIVE_TIMEOUT = /^timeout=(\d+)$/i;

/** Returns the index of the first byte after the head, or undefined if the head is incomplete. */
function findHeadEnd(bytes: Buffer, from: number): number | undefined {
  const end = bytes.indexOf(HEAD_END, from);
  const bareEnd = bytes.indexOf(BARE_HEAD_END, from);
  if (bareEnd !== -1 && (end === -1 || bareEnd < end)) return bareEnd + BARE_HEAD_END.length;
  return end === -1 ? undefined : end + HEAD_END.length;
}

/**
 * Throws if the first line is complete and is not a status line. So if the answer is not HTTP, core does not wait for
 * the end of its head.
 */
function checkStatusLine(bytes: Buffer): void {
  const end = bytes.indexOf("\n");
  if (end !== -1 && !STATUS_LINE.test(bytes.toString("latin1", 0, end).replace(/\r$/, "")))
    throw new Error("no HTTP/1.1 status line");
}

/** Recently parsed heads. Most answers have the same head as another answer from the same second. */
const knownHeads = new Map<string, ReadHead>();
const KNOWN_HEADS_MAX = 16;

function recallHead(text: string): ReadHead {
  const known = knownHeads.get(text);
  if (known !== undefined) return known;
  // In a head, CRLF and a bare line feed both end a line (RFC 9112, section 2.2).
  const head = readHead(text.replaceAll("\r\n", "\n").slice(0, -2));
  const read = { head, hasBareLineFeed: BARE_LINE_FEED.test(text) };
  if (knownHeads.size === KNOWN_HEADS_MAX) knownHeads.clear();
  knownHeads.set(text, read);
  return read;
}

/**
 * Parses a head, whose lines are separated by line feeds. `text` does not contain the empty line after the head. Returns
 * undefined for an interim answer.
 */
function readHead(text: string): Head | undefined {
  const [first = "", ...lines] = text.replace(FOLD, " ").split("\n");
  const [, version, code] = STATUS_LINE.exec(first) ?? [];
  // If the line after the status line is a folded line, `first` contains both lines, and the head is invalid.
  if (code === undefined || !text.startsWith(first)) throw new Error("no HTTP/1.1 status line");
  const fields: Fields = { lengths: [], encodings: [], closes: version === "0", keepAliveMs: undefined };
  for (const line of lines) readField(line, fields);
  const status = Number(code);
  if (status === 101) throw new Error("an unexpected switch of protocols");
  if (status < 200) return undefined;

  const { lengths, encodings, closes, keepAliveMs } = fields;
  const [length] = lengths;
  if (lengths.some((other) => other !== length)) throw new Error("conflicting Content-Lengths");
  if (length !== undefined && !/^\d+$/.test(length)) throw new Error("an invalid Content-Length");
  const { createBody, isReusable } = delimit(status, length, encodings);
  return { status, createBody, isReusable: isReusable && !closes, keepAliveMs };
}

/** The header fields that describe the body and the connection. Other fields are ignored. */
interface Fields {
  readonly lengths: string[];
  readonly encodings: string[];
  closes: boolean;
  keepAliveMs: number | undefined;
}

function readField(line: string, fields: Fields): void {
  const [, name, value = ""] = FIELD_LINE.exec(line) ?? [];
  if (name === undefined) throw new Error("a malformed header line");
  switch (name.toLowerCase()) {
    case "content-length":
      fields.lengths.push(...itemsOf(value));
      break;
    case "transfer-encoding":
      fields.encodings.push(...itemsOf(value));
      break;
    case "connection":
      if (itemsOf(value).some((option) => option.toLowerCase() === "close")) fields.closes = true;
      break;
    case "keep-alive":
      for (const item of itemsOf(value)) {
        const [, seconds] = KEEP_ALIVE_TIMEOUT.exec(item) ?? [];
        if (seconds !== undefined) fields.keepAliveMs ??= Number(seconds) * 1_000;
      }
  }
}

/**
 * Returns the items of a list. Only spaces and tabs around an item are ignored: `trim` would also remove no-break
 * spaces.
 */
function itemsOf(value: string): readonly string[] {
  return value.split(",").map((item) => item.replaceAll(OUTER_SPACE, ""));
}

/**
 * Determines where the body ends (RFC 9112, section 6.3). The connection is reusable only when the end is unambiguous.
 */
function delimit(
  status: number,
  length: string | undefined,
  encodings: readonly string[],
): Pick<Head, "createBody" | "isReusable"> {
  const isEncoded = encodings.length > 0;
  const encoding = encodings.join().toLowerCase();
  // Answers with these statuses have no body, whatever the headers say. A bridge may still send the body that the
  // headers announce.
  if (status === 204 || status === 304) {
    return { createBody: () => fixedBody(0), isReusable: !isEncoded && Number(length ?? 0) === 0 };
  }
  if (encoding === "chunked") return { createBody: chunkedBody, isReusable: length === undefined };
  // A length together with an empty Transfer-Encoding is as ambiguous as a length together with a coding.
  if (encoding === "" && length !== undefined)
    return { createBody: () => fixedBody(Number(length)), isReusable: !isEncoded };
  return { createBody: () => untilClose, isReusable: false };
}
