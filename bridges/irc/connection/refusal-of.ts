import { CannotShow, RetryLater } from "chat-bridge-kit";
import type { ServerLine } from "irc-framework";
import { ChannelUnable } from "./channel-unable";

const REFUSED_RETRY_MS = 15_000;
const NO_SUCH_NICK = "401";
/**
 * Numeric replies to a line that the server would also refuse later: a mode, a ban, or a member's setting forbids it.
 * The second parameter is the target.
 */
const FORBIDDEN = new Set("404 408 415 477 486 531 716".split(" "));
/** Numeric replies to a line that the server may accept later, e.g. because the bridge wrote to many targets. */
const FOR_NOW = new Set("403 407 439 442 707".split(" "));

export interface Refusal {
  readonly target: string;
  readonly error: Error;
  /** The server's words. */
  readonly reason: string;
}

/**
 * Returns the target, the error and the reason of a reply that refuses a line; undefined for other replies. The error
 * is `ChannelUnable` if the server forbids lines to a channel, `CannotShow` if lines do not reach a member, and
 * `RetryLater` otherwise.
 */
export function refusalOf(
  { command, params }: ServerLine,
  isChannel: (target: string) => boolean,
): Refusal | undefined {
  const [, target] = params;
  const isForbidden = FORBIDDEN.has(command);
  if (target === undefined || !(isForbidden || FOR_NOW.has(command) || command === NO_SUCH_NICK)) {
    return undefined;
  }
  const reason = params.at(-1) ?? command;
  return { target, reason, error: errorFor() };

  function errorFor(): Error {
    if (command === NO_SUCH_NICK) return new CannotShow("the member is not connected");
    const problem = `the server did not deliver a line: ${reason}`;
    if (!isForbidden) return new RetryLater(REFUSED_RETRY_MS, problem);
    return isChannel(target ?? "") ? new ChannelUnable(problem) : new CannotShow(problem);
  }
}
