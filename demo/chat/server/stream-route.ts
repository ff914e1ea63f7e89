import { PassThrough } from "node:stream";
import type { FastifyInstance } from "fastify";
import { newestThatFit } from "../room/newest-that-fit";
import { isSeenBy } from "../room/room";
import type { StreamEvent } from "../shapes";
import type { PageContext } from "./page-context";

const STREAMS_MAX = 500;
/** Milliseconds between heartbeats, which detect broken connections and keep proxies from closing idle streams. */
const BEAT_EVERY_MS = 15_000;
/**
 * Maximum bytes of all posts in a `welcome` event, and of all notes in that event. Posts, notes and exchanges together
 * must stay well below `UNREAD_MAX_BYTES`.
 */
const POSTS_MAX_BYTES = 2 * 1024 * 1024;
/**
 * Maximum unread bytes of a stream. A stream with more unread bytes is closed, because its reader has stopped reading.
 */
const UNREAD_MAX_BYTES = 8 * 1024 * 1024;

/** Adds `GET /api/stream`, which sends everything that a member sees as server-sent events. */
export function addStreamRoute(
  app: FastifyInstance,
  { room, wire, bridge, dashboard, pages }: PageContext,
): void {
  app.get("/stream", ({ member: me }, reply) => {
    if (pages.size >= STREAMS_MAX) return reply.code(503).send({ message: "Too many pages are open." });
    // Up to its high-water mark, a PassThrough holds each byte in only one buffer. So the sum below does not count any
    // byte twice.
    const out = new PassThrough({ highWaterMark: UNREAD_MAX_BYTES });
    const send = (event: StreamEvent): void => {
      if (event.type === "post" && !isSeenBy(me.id, event.post)) return;
      if (event.type === "note" && event.note.to !== me.id) return;
      out.write(`data: ${JSON.stringify(event)}\n\n`);
      if (out.writableLength + out.readableLength > UNREAD_MAX_BYTES) out.destroy();
    };
    send({
      type: "welcome",
      me,
      channels: room.channels,
      posts: newestThatFit(room.postsFor(me.id), POSTS_MAX_BYTES),
      notes: newestThatFit(room.notesFor(me.id), POSTS_MAX_BYTES),
      link: bridge.state,
      dashboard: dashboard?.page ?? null,
      exchanges: wire.exchanges,
    });
    pages.add(send);
    const beat = setInterval(() => out.write(": heartbeat\n\n"), BEAT_EVERY_MS);
    out.once("close", () => {
      clearInterval(beat);
      pages.delete(send);
    });
    return reply.type("text/event-stream").header("cache-control", "no-store").send(out);
  });
}
