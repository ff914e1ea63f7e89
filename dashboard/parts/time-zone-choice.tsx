import { useStore } from "../store";
import { localOffset, localZone, showTimesIn, timesIn } from "../time-zone";
import { ActionButton } from "./action-button";

/** Shows the time zone of all times on the page, and lets the user switch between the browser's zone and UTC. */
export function TimeZoneChoice() {
  const isUtc = useStore(timesIn) === "utc";
  const zone = localZone();
  const local = `${zone} (${localOffset(new Date())})`;
  if (zone === "UTC") return <p class="time-zone">Times are in UTC.</p>;
  return (
    <p class="time-zone">
      <span role="status">Times are in {isUtc ? "UTC" : local}.</span>{" "}
      <ActionButton look="quiet" onClick={() => showTimesIn(isUtc ? "local" : "utc")}>
        {isUtc ? `Show ${zone}` : "Show UTC"}
      </ActionButton>
    </p>
  );
}
