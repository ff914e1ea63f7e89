import type { IncomingHttpHeaders } from "node:http";
import type { ShownMessage } from "../../../bridge/check/push/check-bridge";
import { refusal, type PushAnswer } from "../../../bridge/receive-push";
import { SIGNATURE_FAULT_WORDS, SIGNATURE_HEADER, verify, type SecretList } from "../../../bridge/signature";
import { newestThatFit } from "../room/newest-that-fit";
import type { Room } from "../room/room";
import type { Post } from "../shapes";

/** Maximum bytes of an answer. The room can be full of long posts, and the checker sends many requests per second. */
const BODY_MAX_BYTES = 1024 * 1024;

/**
 * Returns a function that answers `chat-bridge-check --observe` with the chat's
 * posts, oldest first, including posts that only one member sees. If the posts
 * exceed `BODY_MAX_BYTES`, the oldest are omitted. A request must be signed
 * like a poll; otherwise it is answered with 401 or 409.
 */
export function createObservation(
  room: Pick<Room, "allPosts">,
  secrets: SecretList,
): (headers: IncomingHttpHeaders, query: string) => PushAnswer {
  return (headers, query) => {
    const header = headers[SIGNATURE_HEADER.toLowerCase()];
    const fault = verify(header?.toString(), query, secrets);
    if (fault !== undefined) return refusal(fault === "stale" ? 409 : 401, SIGNATURE_FAULT_WORDS[fault]);
    return {
      status: 200,
      headers: { "content-type": "application/json", "cache-control": "no-store" },
      body: JSON.stringify({ messages: newestThatFit(room.allPosts().map(shown), BODY_MAX_BYTES) }),
    };
  };
}

function shown(post: Post): ShownMessage {
  const where = { channel: post.conversation, to: post.onlyFor };
  if (post.by === "member") return { ...where, text: post.text };
  const { text, buttons, image } = post.message;
  return { ...where, text, image, buttons: buttons.flat().map(({ label }) => label) };
}
