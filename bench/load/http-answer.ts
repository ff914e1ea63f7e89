/** An answer of which some bytes have arrived. */
export interface PartialAnswer {
  /** The bytes of the head that have arrived so far, while the head is incomplete. */
  head: string;
  /** Status of the answer; 0 while the head is incomplete. */
  status: number;
  /** Number of bytes of the body. */
  bodyBytes: number;
  /** Number of bytes of the body that have not arrived yet. */
  missingBytes: number;
}

const HEAD_MAX_BYTES = 2_048;
const HEAD_END = "\r\n\r\n";
const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
/** Position of the status in "HTTP/1.1 202 Accepted". */
const STATUS_FROM = 9;
const STATUS_TO = 12;

export function newAnswer(): PartialAnswer {
  return { head: "", status: 0, bodyBytes: 0, missingBytes: 0 };
}

/**
 * Reads the first `size` bytes of `chunk`, which follow the bytes already read. Returns true when the answer is
 * complete. Throws an error unless the answer has a short head and a Content-Length, and no bytes follow it.
 */
export function readAnswer(answer: PartialAnswer, chunk: Buffer, size: number): boolean {
  let bodyBytes = size;
  if (answer.status === 0) {
    const known = answer.head.length;
    const head = answer.head + chunk.toString("latin1", 0, Math.min(size, HEAD_MAX_BYTES - known));
    const end = head.indexOf(HEAD_END);
    if (end < 0) {
      if (head.length >= HEAD_MAX_BYTES) throw new Error("the head of an answer is too long");
      answer.head = head;
      return false;
    }
    const length = LENGTH.exec(head.slice(0, end + 2))?.[1];
    if (length === undefined) throw new Error(`an answer has no Content-Length: ${head.slice(0, end)}`);
    answer.status = Number(head.slice(STATUS_FROM, STATUS_TO));
    answer.bodyBytes = Number(length);
    answer.missingBytes = answer.bodyBytes;
    bodyBytes = known + size - end - HEAD_END.length;
  }
  answer.missingBytes -= bodyBytes;
  if (answer.missingBytes < 0) throw new Error("bytes arrived after an answer");
  return answer.missingBytes === 0;
}

/** Resets the object for the next answer on the same connection. */
export function clearAnswer(answer: PartialAnswer): void {
  answer.head = "";
  answer.status = 0;
}
