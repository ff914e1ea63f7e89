import { PassThrough } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { newestThatFit } from "../room/newest-that-fit";
import { isSeenBy } from "../room/room";
import type { Member, StreamEvent } from "../shapes";
import type { PageContext } from "./page-context";

const STREAMS_MAX = 500;
/** Interval of heartbeats, which detect broken connections and keep proxies from closing idle streams. */
const BEAT_EVERY_MS = 15_000;
/** Unread bytes above which a stream is closed: its reader has stopped. */
const UNREAD_MAX_BYTES = 4 * 1024 * 1024;
/** Bounds of the posts and exchanges in a welcome. Their sum must be well below `UNREAD_MAX_BYTES`. */
const POSTS_MAX_BYTES = 2 * 1024 * 1024;
const EXCHANGES_MAX_BYTES = 1024 * 1024;

/** Adds `GET /api/stream`: everything that a member sees, as lines of JSON. An empty line is a heartbeat. */
export function addStreamRoute(
  app: FastifyInstance,
  context: PageContext,
  memberOf: (request: FastifyRequest) => Member,
): void {
  const { room, wire, link, stopping } = context;
  let streams = 0;

  app.get("/stream", (request, reply) => {
    if (streams >= STREAMS_MAX) return reply.code(503).send({ message: "Too many pages are open." });
    const me = memberOf(request);
    // Up to its high-water mark a PassThrough buffers on one side only, so no byte is counted twice below.
    const out = new PassThrough({ highWaterMark: UNREAD_MAX_BYTES });
    const send = (event: StreamEvent): void => {
      out.write(`${JSON.stringify(event)}\n`);
      if (out.writableLength + out.readableLength > UNREAD_MAX_BYTES) out.destroy();
    };
    const members = (): StreamEvent => ({ type: "members", members: room.here() });
    const leave = room.enter(me);
    send({
      type: "welcome",
      me,
      channels: room.channels,
      posts: newestThatFit(room.postsFor(me.id).toReversed(), POSTS_MAX_BYTES, asItIs).toReversed(),
      members: room.here(),
      link: link.state(),
      exchanges: newestThatFit(wire.exchanges, EXCHANGES_MAX_BYTES, asItIs),
    });
    const stops = [
      leave,
      room.watch((change) => {
        if (change.type === "members") send(members());
        else if (isSeenBy(me.id, change.post)) send(change);
      }),
      wire.watch((exchange) => send({ type: "exchange", exchange })),
      link.watch(send),
    ];
    const beat = setInterval(() => out.write("\n"), BEAT_EVERY_MS);
    const end = (): void => void out.end();
    streams++;
    stopping.addEventListener("abort", end, { once: true });
    out.once("close", () => {
      streams--;
      clearInterval(beat);
      stopping.removeEventListener("abort", end);
      for (const stop of stops.toReversed()) stop();
    });
    return reply.type("application/x-ndjson").header("cache-control", "no-store").send(out);
  });
}

function asItIs<Item>(item: Item): Item {
  return item;
}
