import { RESULT_MEANINGS } from "../contract/deliveries";
import type { DeliveryShape, EventSummaryShape } from "../proto/json/shapes";
import { joined, painted, resultLook, type Line, type Span } from "./colour";

/** Returns where an event is shown and the start of its text, e.g. "#general · Who is in? [Join]". */
export function summaryText(summary: EventSummaryShape | null): string {
  if (summary === null) return "";
  const { channel, userId, text } = summary;
  const place = [channel && `#${channel}`, userId && `@${userId}`].filter((part) => part !== "").join(" ");
  return [place, text].filter((part) => part !== "").join(" · ");
}

/** Returns the result of a push attempt, or the reason for a drop, in the dashboard's words, with the HTTP status. */
export function resultText({ result, status }: Pick<DeliveryShape, "result" | "status">): Span {
  const { words } = RESULT_MEANINGS[result];
  return painted(resultLook(result), status === 0 ? words : `${words} ${status}`);
}

/** Returns the line that shows a delivery, both in `tail deliveries` and in a workspace's health. */
export function deliveryLine(delivery: DeliveryShape): Line {
  const { at, eventType, eventId, attempt, result, status, latencyMs, address } = delivery;
  const { polls, lastAt, events, summary } = delivery;
  const isPoll = polls > 0;
  return joined([
    painted("dim", at),
    eventType,
    eventId,
    summaryText(summary),
    attempt === 0 ? "" : `attempt ${attempt}`,
    isPoll ? painted(resultLook(result), result) : resultText(delivery),
    isPoll ? String(status) : "",
    attempt === 0 ? "" : `${latencyMs} ms`,
    address,
    polls > 1 ? `${polls} polls, the last at ${lastAt ?? at}` : "",
    isPoll ? `${events === 0 ? "no" : events} ${events === 1 ? "event" : "events"}` : "",
  ]);
}
