import { type DeliveryOutcome, type DeliveryResult, RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryShape } from "../../proto/json/shapes";

/** The filters of the delivery log. An empty string matches everything. */
export interface DeliveryFilter {
  /** A result, or an outcome that includes several results. Any value except "" hides polls. */
  readonly result: DeliveryOutcome | DeliveryResult | "";
  readonly eventType: string;
  /** Text that the event id must contain, ignoring case. */
  readonly event: string;
  /** Id of a channel. Any value except "" hides polls, because the log does not contain the messages of polls. */
  readonly channel: string;
  /** Text that the message id must contain, ignoring case. Any value except "" hides polls. */
  readonly message: string;
  /** Text that the message, the channel or the member must contain, ignoring case. Any value except "" hides polls. */
  readonly text: string;
  /** Start of the times to show (inclusive), as ISO 8601 in UTC. */
  readonly from: string;
  /** End of the times to show (exclusive), as ISO 8601 in UTC. */
  readonly to: string;
}

export const ALL_DELIVERIES: DeliveryFilter = {
  result: "",
  eventType: "",
  event: "",
  channel: "",
  message: "",
  text: "",
  from: "",
  to: "",
};

/** Whether a filter hides anything. */
export function isFiltered(filter: DeliveryFilter): boolean {
  return Object.values(filter).some((each: string) => each.trim() !== "");
}

export function filterDeliveries(
  deliveries: readonly DeliveryShape[],
  filter: DeliveryFilter,
): readonly DeliveryShape[] {
  const { result, eventType, channel } = filter;
  const [event, message, text] = [folded(filter.event), folded(filter.message), folded(filter.text)];
  const [fromMs, toMs] = [msOf(filter.from, -Infinity), msOf(filter.to, Infinity)];
  return deliveries.filter(
    (each) =>
      (result === "" ||
        (each.polls === 0 && [each.result, RESULT_MEANINGS[each.result].outcome].includes(result))) &&
      (eventType === "" || each.eventType === eventType) &&
      folded(each.eventId).includes(event) &&
      isAbout(each, channel, message, text) &&
      isWithin(each, fromMs, toMs),
  );
}

function isAbout({ summary }: DeliveryShape, channel: string, message: string, text: string): boolean {
  if (channel + message + text === "") return true;
  return (
    summary !== null &&
    (channel === "" || summary.channel === channel) &&
    folded(summary.messageId).includes(message) &&
    folded(`${summary.channel} ${summary.userId} ${summary.text}`).includes(text)
  );
}

/** Returns whether a delivery, or a run of polls, overlaps a range of time. */
function isWithin({ at, lastAt }: DeliveryShape, fromMs: number, toMs: number): boolean {
  return Date.parse(at) < toMs && Date.parse(lastAt ?? at) >= fromMs;
}

function msOf(at: string, otherwise: number): number {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? otherwise : ms;
}

const folded = (text: string): string => text.trim().toLowerCase();

/** Returns the filters that show one minute. */
export function minuteOf(startMs: number): Pick<DeliveryFilter, "from" | "to"> {
  const at = (ms: number): string => new Date(ms).toISOString();
  return { from: at(startMs), to: at(startMs + 60_000) };
}

/** Returns the channels of a log, sorted by name. */
export function channelsOf(deliveries: readonly DeliveryShape[]): readonly string[] {
  const channels = deliveries.flatMap(({ summary }) => summary?.channel ?? []);
  return [...new Set(channels)].filter((each) => each !== "").toSorted();
}
