import { useNow } from "../clock";
import { exactTime, exactUtc, fromNow, localTime, msTime } from "../words/time-words";

export interface InstantProps {
  /** The time to show, as ISO 8601 in UTC. */
  readonly at: string;
  /**
   * `date` shows the local date and time. `time` shows the local time with seconds, and the day unless it is today.
   * `ms` shows the same with milliseconds. `ago` shows the time relative to now, e.g. "3 min ago". The tooltip shows
   * the exact time in UTC.
   */
  readonly as?: "date" | "time" | "ms" | "ago";
}

/** Shows a time. Only this component and the charts show times, so all times on the pages have the same format. */
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

function local(at: string, as: "date" | "time" | "ms"): string {
  if (as === "date") return localTime(new Date(at), "date");
  return as === "ms" ? msTime(at, Date.now()) : exactTime(at, Date.now());
}
