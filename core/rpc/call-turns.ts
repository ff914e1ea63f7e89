import { createFairSlots } from "../domain/fair-slots";
import { CALLS_AT_ONCE } from "../domain/bounds";
import { callerOf, cancelledSignal, type ServedCall } from "./call-caller";

/**
 * Returns a function that runs the work of a call in the turn of the call's token, and resolves or rejects as the work does.
 * Core works on only a few calls at the same time, and the tokens take turns. So a token with many calls in flight
 * delays another token's call by only a few calls. If the client cancels a waiting call, the function rejects with
 * `CallCancelled`.
 */
export function createCallTurns() {
  const slots = createFairSlots(CALLS_AT_ONCE);
  return <T>(call: ServedCall, work: () => Promise<T>): Promise<T> =>
    slots.run(callerOf(call).name, work, { signal: cancelledSignal(call) });
}
