import type { FastifyReply } from "fastify";
import { WAIT_MAX_SECONDS } from "./fake-chat";
import { Refused } from "./refused";

/** Returns the options of a route whose body or query may have only the given properties. */
export function fields(
  part: "body" | "querystring",
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
): object {
  return { schema: { [part]: { type: "object", additionalProperties: false, required, properties } } };
}

export const TEXT = { type: "string", maxLength: 8_000 } as const;
export const NAME = { type: "string", minLength: 1, maxLength: 200 } as const;
export const COUNT = { type: "string", pattern: "^[0-9]{1,15}$" } as const;

/** A wait in seconds, optionally with decimals. */
export const WAIT = { type: "string", pattern: "^[0-9]{1,3}([.][0-9]{1,3})?$" } as const;

/** Returns the length of a wait in seconds. Throws `Refused` if the wait is too long. */
export function readWait(wait: string | undefined): number {
  const seconds = Number(wait ?? 0);
  if (seconds <= WAIT_MAX_SECONDS) return seconds;
  throw new Refused(400, `wait is at most ${WAIT_MAX_SECONDS} seconds: repeat the call to wait longer`);
}

/** Returns a signal that is aborted when the client closes the connection. */
export function closedSignal(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once("close", () => closed.abort());
  return closed.signal;
}
