import { status, type StatusObject } from "@grpc/grpc-js";
import type { AcceptedCaller, AcceptedTokens } from "./accepted-tokens";

interface OpenCall {
  readonly caller: AcceptedCaller;
  /** Asks the client to stop using the call. Undefined if the call can end immediately. */
  leave(): (() => void) | undefined;
  end(status: Pick<StatusObject, "code" | "details">): void;
}

/**
 * Milliseconds that an edge gets to answer the calls of a lane, and to replace the lane, after core no longer accepts
 * the lane's token.
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
 * Tracks the open streams with a token, and ends them when core no longer accepts their tokens. A stream is also ended
 * if the token's name or workspaces changed: the client then opens a stream with the new ones. Unary calls are not
 * tracked, because they end by themselves. Returns a function that adds a stream, and returns a function that removes
 * the stream.
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

/** Returns the refusal of a call whose token was removed or changed before the call started; undefined if it was not. */
export function findRevocation(tokens: AcceptedTokens, caller: AcceptedCaller) {
  if (tokens.isCurrent(caller)) return undefined;
  return tokens.acceptsTokenOf(caller) ? CHANGED : REMOVED;
}
