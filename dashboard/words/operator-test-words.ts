import type { OperatorTestShape } from "../../proto/json/shapes";
import type { Tone } from "./health-words";

const STATUS_FORM = /^\d{3}$/;

/** Returns the result of a test operator event in words. */
export function operatorTestWords({ accepted, detail }: OperatorTestShape["results"][number]): {
  readonly tone: Extract<Tone, "good" | "bad">;
  readonly text: string;
} {
  const what = STATUS_FORM.test(detail) ? `it answered with ${detail}` : detail;
  return accepted
    ? { tone: "good", text: `The receiver accepted the test event: ${what}.` }
    : { tone: "bad", text: `The receiver did not accept the test event: ${what}.` };
}
