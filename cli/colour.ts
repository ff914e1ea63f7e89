import type { HealthState } from "../contract/health-states";
import { RESULT_MEANINGS } from "../contract/deliveries";
import { coloured, type Look } from "../kit/terminal-colour";
import type { DeliveryShape } from "../proto/json/shapes";
import { printable } from "./printable";

/** Text with a look. Without colour, a terminal shows only the text. */
export interface Painted {
  readonly text: string;
  readonly look: Look;
}

/** A piece of a line. The text can be untrusted: `rendered` escapes the text before adding colour. */
export type Span = string | Painted;
/** A line of output. */
export type Line = Span | readonly Span[];

/** Returns the text with the look, or plain text if `look` is undefined. */
export function painted(look: Look | undefined, text: string): Span {
  return look === undefined || text === "" ? text : { text, look };
}

/** Returns the pieces of a line. */
export function spansOf(line: Line): readonly Span[] {
  return typeof line === "string" || "look" in line ? [line] : line;
}

/** Returns a line as plain text, without looks. */
export function plain(line: Line): string {
  return spansOf(line)
    .map((span) => (typeof span === "string" ? span : span.text))
    .join("");
}

/**
 * Returns a line as a terminal shows it. Line breaks are kept, and other characters that control a terminal are
 * escaped.
 */
export function rendered(line: Line, hasColour: boolean): string {
  return spansOf(line)
    .map((span) => {
      const { text, look } = typeof span === "string" ? { text: span, look: undefined } : span;
      const parts = text.split("\n").map(printable);
      return (look === undefined || !hasColour ? parts : parts.map((part) => coloured(look, part))).join(
        "\n",
      );
    })
    .join("");
}

/** Joins the pieces of a line, separated by two spaces. Empty pieces are omitted. */
export function joined(spans: readonly Span[]): Line {
  const shown = spans.filter((span) => plain(span) !== "");
  return shown.flatMap((span, index) => (index === 0 ? [span] : ["  ", span]));
}

const HEALTH_LOOKS: Readonly<Record<HealthState, Look>> = {
  unused: "dim",
  idle: "dim",
  healthy: "good",
  recovered: "good",
  degraded: "warning",
  failing: "bad",
};

/** Returns the look for a health state. */
export function healthLook(state: HealthState): Look {
  return HEALTH_LOOKS[state];
}

const OUTCOME_LOOKS = { success: "good", failed: "bad", dropped: "warning" } as const;

/** Returns the look for a delivery's result, as in the dashboard. */
export function resultLook(result: DeliveryShape["result"]): Look {
  return OUTCOME_LOOKS[RESULT_MEANINGS[result].outcome];
}
