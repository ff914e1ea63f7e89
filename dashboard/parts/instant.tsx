import { useNow } from "../clock";
import { exactUtc, fromNow } from "../words/time-words";

const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DAY_AND_EXACT_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });

export interface InstantProps {
  /** The time to show, as ISO 8601 in UTC. */
  readonly at: string;
  /**
   * `date` shows the local date and time. `time` shows the local time, and the date unless the date is today. `ago`
   * shows the distance from now, e.g. "3 min ago". The tooltip has the exact time in UTC.
   */
  readonly as?: "date" | "time" | "ago";
}

export function Instant({ at, as = "date" }: InstantProps) {
  return (
    <time dateTime={at} title={exactUtc(at)}>
      {as === "ago" ? <Ago at={at} /> : local(new Date(at), as)}
    </time>
  );
}

function Ago({ at }: { readonly at: string }) {
  return <>{fromNow(Date.parse(at), useNow())}</>;
}

function local(at: Date, as: "date" | "time"): string {
  if (as === "date") return DAY_AND_TIME.format(at);
  const today = at.toDateString() === new Date().toDateString();
  return (today ? TIME : DAY_AND_EXACT_TIME).format(at);
}
