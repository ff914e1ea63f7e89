import * as fc from "fast-check";
import { CallEnd, type EndSignal } from "../../core/domain/end-signal";
import { forAll } from "../harness/for-all";

const REASON = new Error("the call has ended");

/** An operation on a signal, with one of three listeners. */
const STEP = fc.record({ do: fc.constantFrom("add", "remove", "abort"), who: fc.nat({ max: 2 }) } as const);

/** Runs the steps. Returns the observable state of the signal after each step. */
function traceOf(
  signal: EndSignal,
  abort: () => void,
  steps: readonly { readonly do: "add" | "remove" | "abort"; readonly who: number }[],
): readonly unknown[] {
  const called: number[] = [];
  const listeners = [0, 1, 2].map((who) => () => {
    called.push(who);
    // A listener can remove another listener, e.g. when a task leaves a queue.
    if (who === 0) signal.removeEventListener("abort", listeners[1] as () => void);
  });
  return steps.map((step) => {
    const listener = listeners[step.who] as () => void;
    if (step.do === "add") signal.addEventListener("abort", listener, { once: true });
    else if (step.do === "remove") signal.removeEventListener("abort", listener);
    else abort();
    let thrown: unknown;
    try {
      signal.throwIfAborted();
    } catch (error) {
      thrown = error;
    }
    return [signal.aborted, signal.reason, thrown, [...called]];
  });
}

test("the signal for the end of a call behaves like an AbortSignal", () => {
  forAll(fc.array(STEP, { maxLength: 12 }), (steps) => {
    const end = new CallEnd();
    const controller = new AbortController();
    expect(traceOf(end, () => end.abort(REASON), steps)).toEqual(
      traceOf(controller.signal, () => controller.abort(REASON), steps),
    );
  });
});
