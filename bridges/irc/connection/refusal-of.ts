import { CannotShow, RetryLater } from "chat-bridge-kit";
import type { ServerLine } from "irc-framework";

const REFUSED_RETRY_MS = 15_000;
const NO_SUCH_NICK = "401";
/** Numeric replies to a line that was not delivered. The second parameter is the target. */
const NOT_DELIVERED = new Set([NO_SUCH_NICK, ..."403 404 407 408 415 442 477 486 531 716".split(" ")]);

/** Returns the target and the error of a reply to a line that was not delivered; undefined for other lines. */
export function refusalOf({ command, params }: ServerLine): { target: string; error: Error } | undefined {
  const [, target] = params;
  if (!NOT_DELIVERED.has(command) || target === undefined) return undefined;
  const reason = params.at(-1) ?? command;
  const error =
    command === NO_SUCH_NICK
      ? new CannotShow("the member is not connected")
      : new RetryLater(REFUSED_RETRY_MS, `the server did not deliver a line: ${reason}`);
  return { target, error };
}
