import { useState } from "preact/hooks";
import {
  DELIVERY_RESULTS,
  POLLS_LOGGED_MAX,
  PUSHES_LOGGED_MAX,
  RESULT_MEANINGS,
} from "../../contract/deliveries";
import type { DeliveryShape, Mode } from "../../edge/dashboard/shapes";
import { ActionButton } from "../parts/action-button";
import { Loading } from "../parts/loading";
import { ALL_DELIVERIES, filterDeliveries, type DeliveryFilter } from "../words/delivery-list";
import { DeliveryRow } from "./delivery-row";

const SHOWN_AT_FIRST = 50;

const WHAT_APPEARS: Readonly<Record<Mode, string>> = {
  push: "Push attempts appear here live. Send a test event to make the first attempt.",
  poll: "The bridge's polls appear here live.",
  none: "Deliveries to a connected bridge appear here.",
};

export interface DeliveryLogProps {
  /** Newest first; undefined while loading. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly mode: Mode;
}

/** Shows the newest deliveries of a workspace, and more on request. The browser filters the whole log. */
export function DeliveryLog({ deliveries, mode }: DeliveryLogProps) {
  const [filter, setFilter] = useState(ALL_DELIVERIES);
  const [shownMax, setShownMax] = useState(SHOWN_AT_FIRST);
  const [held, setHeld] = useState<readonly DeliveryShape[] | undefined>(undefined);
  if (deliveries === undefined) {
    return (
      <section class="card">
        <h2>Delivery log</h2>
        <Loading what="Loading the log" />
      </section>
    );
  }
  const log = held ?? deliveries;
  const newest = held?.[0]?.id;
  const unseen =
    held === undefined
      ? 0
      : Math.max(
          0,
          deliveries.findIndex(({ id }) => id === newest),
        );
  const found = filterDeliveries(log, filter);
  const isFiltered = filter !== ALL_DELIVERIES && found.length < log.length;
  return (
    <section class="card" aria-labelledby="log-title">
      <div class="card-heading">
        <h2 id="log-title">Delivery log</h2>
        {log.length > 0 && (
          <ActionButton onClick={() => setHeld(held === undefined ? deliveries : undefined)}>
            {held === undefined ? "Pause" : `Resume${unseen > 0 ? ` (${unseen} new)` : ""}`}
          </ActionButton>
        )}
      </div>
      {log.length === 0 ? (
        <p class="empty-line">No deliveries yet. {WHAT_APPEARS[mode]}</p>
      ) : (
        <>
          <Filters log={log} filter={filter} onFilter={setFilter} />
          <p class="hint" role="status">
            {isFiltered
              ? `${found.length} of ${log.length} match.`
              : `${log.length} ${log.length === 1 ? "delivery" : "deliveries"}: the last ${PUSHES_LOGGED_MAX.toLocaleString()} pushes and ${POLLS_LOGGED_MAX} polls are kept, for 7 days.`}
          </p>
          {found.length > 0 && (
            <div class="table-scroll">
              <table class="log">
                <caption class="unseen">Deliveries, newest first</caption>
                <thead>
                  <tr>
                    <th scope="col">When</th>
                    <th scope="col">Event</th>
                    <th scope="col">Outcome</th>
                    <th scope="col" class="number wide-only">
                      Attempt
                    </th>
                    <th scope="col" class="number wide-only">
                      Latency
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.slice(0, shownMax).map((each) => (
                    <DeliveryRow key={each.id} delivery={each} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {found.length > shownMax && (
            <ActionButton onClick={() => setShownMax(shownMax + 4 * SHOWN_AT_FIRST)}>
              Show more ({found.length - shownMax})
            </ActionButton>
          )}
        </>
      )}
    </section>
  );
}

interface FiltersProps {
  readonly log: readonly DeliveryShape[];
  readonly filter: DeliveryFilter;
  onFilter(filter: DeliveryFilter): void;
}

function Filters({ log, filter, onFilter }: FiltersProps) {
  const types = [...new Set(log.map(({ eventType }) => eventType))].toSorted();
  const change = (what: Partial<DeliveryFilter>): void => onFilter({ ...filter, ...what });
  const classes = (outcome: "failed" | "dropped") =>
    DELIVERY_RESULTS.filter((each) => RESULT_MEANINGS[each].outcome === outcome).map((each) => (
      <option key={each} value={each}>
        {RESULT_MEANINGS[each].words}
      </option>
    ));
  return (
    <div class="filters" role="group" aria-label="Filter the log">
      <label>
        <span>Outcome</span>
        <select
          value={filter.result}
          onChange={({ currentTarget }) =>
            change({ result: currentTarget.value as DeliveryFilter["result"] })
          }
        >
          <option value="">All</option>
          <option value="success">Accepted</option>
          <option value="failed">Failed, all</option>
          <option value="dropped">Dropped, all</option>
          <optgroup label="Failed">{classes("failed")}</optgroup>
          <optgroup label="Dropped">{classes("dropped")}</optgroup>
        </select>
      </label>
      <label>
        <span>Event type</span>
        <select
          value={filter.eventType}
          onChange={({ currentTarget }) => change({ eventType: currentTarget.value })}
        >
          <option value="">All</option>
          {types.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      </label>
      <label class="grow">
        <span>Event id</span>
        <input
          type="search"
          value={filter.event}
          onInput={({ currentTarget }) => change({ event: currentTarget.value })}
          placeholder="evt_…"
          autocomplete="off"
          spellcheck={false}
        />
      </label>
    </div>
  );
}
