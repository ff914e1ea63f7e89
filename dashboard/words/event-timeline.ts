import type { EventAttemptShape, EventShape } from "../../proto/json/shapes";

/** A step in the life of an event. */
export type TimelineStep =
  | { readonly is: "published"; readonly at: string; readonly by: string }
  | { readonly is: "attempt"; readonly at: string; readonly attempt: EventAttemptShape }
  | { readonly is: "sent-again"; readonly at: string; readonly by: string }
  | { readonly is: "expires"; readonly at: string };

/**
 * Returns what happened to an event, oldest first, and when it expires. Steps with the same time are in causal order:
 * an event is published before its first attempt, and sent again before the attempts that follow.
 */
export function timelineOf({
  publishedAt,
  publisher,
  expiresAt,
  attempts,
  sentAgain,
}: EventShape): readonly TimelineStep[] {
  const steps: readonly TimelineStep[] = [
    ...(publishedAt === null ? [] : [{ is: "published", at: publishedAt, by: publisher } as const]),
    ...sentAgain.map(({ at, by }) => ({ is: "sent-again", at, by }) as const),
    ...attempts.map((attempt) => ({ is: "attempt", at: attempt.delivery.at, attempt }) as const),
    ...(expiresAt === null ? [] : [{ is: "expires", at: expiresAt } as const]),
  ];
  return steps.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
