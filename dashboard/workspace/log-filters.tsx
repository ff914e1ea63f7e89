import { DELIVERY_RESULTS, RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryShape } from "../../proto/json/shapes";
import { ActionButton } from "../parts/action-button";
import { ALL_DELIVERIES, type DeliveryFilter } from "../words/delivery-list";
import { isFiltered } from "../words/log-view";

export interface LogFiltersProps {
  readonly log: readonly DeliveryShape[];
  readonly filter: DeliveryFilter;
  onFilter(filter: DeliveryFilter): void;
}

export function LogFilters({ log, filter, onFilter }: LogFiltersProps) {
  // The chosen type stays in the list even if the log no longer contains it.
  const chosen = filter.eventType === "" ? [] : [filter.eventType];
  const types = [...new Set([...log.map(({ eventType }) => eventType), ...chosen])].toSorted();
  const change = (what: Partial<DeliveryFilter>): void => onFilter({ ...filter, ...what });
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
          <optgroup label="Failed">{resultsOf("failed")}</optgroup>
          <optgroup label="Dropped">{resultsOf("dropped")}</optgroup>
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
      {isFiltered(filter) && <ActionButton onClick={() => onFilter(ALL_DELIVERIES)}>Show all</ActionButton>}
    </div>
  );
}

function resultsOf(outcome: "failed" | "dropped") {
  return DELIVERY_RESULTS.filter((each) => RESULT_MEANINGS[each].outcome === outcome).map((each) => (
    <option key={each} value={each}>
      {RESULT_MEANINGS[each].words}
    </option>
  ));
}
