import type { DeliveryShape } from "../../proto/json/shapes";
import { Instant } from "../parts/instant";
import { countOf } from "../words/delivery-list";

/**
 * Lists the runs of empty polls that share a row of the log, newest first. Between two runs, the bridge did not poll.
 */
export function PollRuns({ runs }: { readonly runs: readonly DeliveryShape[] }) {
  return (
    <>
      <p>No events were waiting.</p>
      <ul class="attempts">
        {runs.map(({ id, at, lastAt, polls }) => (
          <li key={id}>
            <span>
              <Instant at={at} as="time" />
              {polls > 1 && lastAt !== null && (
                <>
                  {" "}
                  to <Instant at={lastAt} as="time" />
                </>
              )}
            </span>
            <span>{countOf(polls, "poll")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
