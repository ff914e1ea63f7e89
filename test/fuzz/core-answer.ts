import { createAnswer } from "../../core/delivery/push-answer";
import type { CoreAnswer } from "./answer-differences";

const NOTHING = Buffer.alloc(0);
const LINE_ENDS = Buffer.from("\r\n\r\n");

/** Reads an answer with core's parser. If `isEnded` is true, appends line ends to an incomplete answer. */
export function coreAnswer(pieces: readonly Buffer[], isEnded: boolean): CoreAnswer {
  const answer = createAnswer();
  let piecesRead = 0;
  let reason = "";
  try {
    for (const piece of pieces) {
      if (answer.state === "spent" || answer.state === "ended") break;
      answer.read(piece);
      piecesRead++;
    }
    if (isEnded && ["head", "body"].includes(answer.state)) answer.read(LINE_ENDS);
  } catch (error) {
    reason = (error as Error).message;
  }
  const { state, status, bodyStart } = answer;
  return {
    state: reason === "" ? state : "rejected",
    reason,
    status,
    start: bodyStart?.read(true)?.bytes ?? NOTHING,
    piecesRead,
    isFollowed: state === "spent" && endsBefore(Buffer.concat(pieces)),
  };
}

/** Returns whether the connection received more bytes after the complete answer. */
function endsBefore(bytes: Buffer): boolean {
  const answer = createAnswer();
  for (let at = 0; at < bytes.length - 1; at++) {
    answer.read(bytes.subarray(at, at + 1));
    if (answer.state === "ended") return true;
    if (answer.state === "spent") return false;
  }
  return false;
}
