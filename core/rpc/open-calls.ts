import { status, type StatusObject } from "@grpc/grpc-js";
import type { AcceptedCaller, AcceptedTokens } from "./accepted-tokens";

interface OpenCall {
  readonly caller: AcceptedCaller;
  /** Asks the client to stop using the call. Undefined if the call can end immediately. */
  leave(): (() => void) | undefined;
  end(status: Pick<StatusObject, "code" | "details">): void;
}

/**
 * Maximum milliseconds for which a lane stays open after core no longer accepts its token. In this time, core answers
 * the pending calls, and the edge replaces the lane.
 */
const LEAVE_WITHIN_MS = 5_000;

const REMOVED = {
  code: status.UNAUTHENTICATED,
  details: "the token was removed from core's CORE_TOKENS_FILE: use another token",
};
const CHANGED = {
  code: status.UNAVAILABLE,
  details: "the name or the workspaces of the token were changed: repeat the call",
};

/**
 * Tracks the open streams with a token, and ends them when core no longer accepts their tokens. Also ends a stream if
 * its token's name or workspaces have changed: the client then opens a new stream, to which the changes apply. Unary
 * calls are not tracked, because they end by themselves. Returns a function that adds a stream. That function returns
 * another function, which removes the stream.
 */
export function createOpenCalls(tokens: AcceptedTokens): (call: OpenCall) => () => void {
  const open = new Set<OpenCall>();
  const leaving = new WeakSet<OpenCall>();

  function end(call: OpenCall): void {
    if (open.delete(call)) call.end(tokens.acceptsTokenOf(call.caller) ? CHANGED : REMOVED);
  }

  tokens.onReplaced(() => {
    for (const call of open) {
      if (leaving.has(call) || tokens.isCurrent(call.caller)) continue;
      const leave = call.leave();
      if (leave === undefined) {
        end(call);
      } else {
        leaving.add(call);
        leave();
        setTimeout(end, LEAVE_WITHIN_MS, call).unref();
      }
    }
  });

  return (call) => {
    open.add(call);
    return () => open.delete(call);
  };
}

/**
 * Returns the refusal of a call whose token was removed or changed before the call started; undefined if the token is
 * unchanged.
 */
export function findRevocation(tokens: AcceptedTokens, caller: AcceptedCaller) {
  if (tokens.isCurrent(caller)) return undefined;
  return tokens.acceptsTokenOf(caller) ? CHANGED : REMOVED;
}
