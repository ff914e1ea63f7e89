import { status } from "@grpc/grpc-js";
import { createShares } from "../../runtime/shares";
import { LIMITED_PACE } from "../domain/bounds";
import type { Caller } from "../domain/caller";
import type { EndSignal } from "../domain/end-signal";
import { createPace } from "../domain/pace";
import { callerOf, cancelledSignal, type ServedCall } from "./call-caller";
import { ownerOf, tooMuch } from "./token-shares";
import { StatusError } from "./status";

export type CallPace = ReturnType<typeof createCallPace>;

/** Returns functions that enforce the rates in `LIMITED_PACE`. Calls with a token for all workspaces never wait. */
export function createCallPace() {
  const { calls, events, eventBytes, waitingMax } = LIMITED_PACE;
  const starts = createPace(calls);
  const publications = createPace(events);
  const waiting = createShares(waitingMax);

  return {
    /**
     * Resolves when a call may start. Rejects with `CallCancelled` when the client cancels the call first, and with
     * UNAVAILABLE when too many calls wait. Clients repeat a call that fails with UNAVAILABLE.
     */
    async start(caller: Caller, signal: EndSignal): Promise<void> {
      const release = waiting.acquire(ownerOf(caller));
      if (typeof release === "string") {
        const many = `${waiting.max[release]} calls that wait to start`;
        throw new StatusError(status.UNAVAILABLE, tooMuch(many, release, caller));
      }
      await starts.begin(caller.name, 1, signal).finally(release);
    },
    /** Delays the next calls of the caller as if the caller had made `count` more calls. */
    countCalls(call: ServedCall, count: number): void {
      if (isLimited(callerOf(call))) starts.use(callerOf(call).name, count);
    },
    /**
     * Resolves when the call may publish its `count` events, which take `bytes` bytes in total. Rejects with
     * `CallCancelled` when the client cancels the call first.
     */
    async publish(call: ServedCall, count: number, bytes: number): Promise<void> {
      const caller = callerOf(call);
      const amount = Math.max(count, bytes / eventBytes);
      if (isLimited(caller)) await publications.begin(caller.name, amount, cancelledSignal(call));
    },
  };
}

/** Returns whether the rate of the caller's calls is limited. Calls without a token, e.g. probes, are not limited. */
export function isLimited(caller: Caller | undefined): caller is Caller {
  return caller?.workspaces !== undefined;
}
