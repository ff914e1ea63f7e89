import { useNow } from "../clock";
import { exactTime, exactUtc, fromNow, localTime } from "../words/time-words";

export interface InstantProps {
  /** The time to show, as ISO 8601 in UTC. */
  readonly at: string;
  /**
   * `date` shows the local date and time. `time` shows the local time with seconds, and the day unless it is today.
   * `ago` shows the time relative to now, e.g. "3 min ago". The tooltip has the exact time in UTC.
   */
  readonly as?: "date" | "time" | "ago";
}

/** Shows a time. All times on the pages are shown by this component or by a chart, in the same format. */
export function Instant({ at, as = "date" }: InstantProps) {
  return (
    <time dateTime={at} title={exactUtc(at)}>
      {as === "ago" ? <Ago at={at} /> : local(at, as)}
    </time>
  );
}

function Ago({ at }: { readonly at: string }) {
  return <>{fromNow(Date.parse(at), useNow())}</>;
}

function local(at: string, as: "date" | "time"): string {
  return as === "date" ? localTime(new Date(at), "date") : exactTime(at, Date.now());
}
