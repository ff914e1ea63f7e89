import type { IncomingHttpHeaders } from "node:http";
import type { ShownMessage } from "../../../kit/check/push/check-bridge";
import type { Message } from "../../../kit/events";
import { refusal, type PushAnswer } from "../../../kit/receive-push";
import { explainFault, SIGNATURE_HEADER, verify, type SecretList } from "../../../kit/signature";
import { newestThatFit } from "../room/newest-that-fit";
import type { Room } from "../room/room";
import type { Note, Post } from "../shapes";

/**
 * Maximum bytes of an answer, because the room can be full of long posts, and the checker sends many requests per
 * second.
 */
const BODY_MAX_BYTES = 1024 * 1024;

/**
 * Returns a function that answers `chat-bridge-check --observe` with the chat's
 * posts, oldest first, including posts that only one member sees. If the posts
 * exceed `BODY_MAX_BYTES`, the oldest are omitted. A request must be signed
 * like a poll; otherwise it is answered with 401 or 409.
 */
export function createObservation(
  room: Pick<Room, "allPosts" | "allNotes">,
  secrets: SecretList,
): (headers: IncomingHttpHeaders, query: string) => PushAnswer {
  return (headers, query) => {
    const header = headers[SIGNATURE_HEADER.toLowerCase()];
    const fault = verify(header?.toString(), query, secrets);
    if (fault !== undefined)
      return refusal(fault === "stale" ? 409 : 401, explainFault(fault, header?.toString()));
    return {
      status: 200,
      headers: { "content-type": "application/json", "cache-control": "no-store" },
      body: JSON.stringify({ messages: newestThatFit(messagesIn(room), BODY_MAX_BYTES) }),
    };
  };
}

/** Returns all posts of the room, followed by all notes. */
function messagesIn(room: Pick<Room, "allPosts" | "allNotes">): readonly ShownMessage[] {
  return [...room.allPosts().map(ofPost), ...room.allNotes().map(ofNote)];
}

function ofPost(post: Post): ShownMessage {
  const where = { channel: post.conversation, to: post.onlyFor };
  return post.by === "member" ? { ...where, text: post.text } : { ...where, ...contentOf(post.message) };
}

function ofNote([{ to, message }, { conversation }]: readonly [Note, Post]): ShownMessage {
  return { channel: conversation, to, ...contentOf(message) };
}

function contentOf({ text, buttons, image }: Message) {
  return { text, image, buttons: buttons.flat().map(({ label }) => label) };
}
