import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { DELIVERY_RESULTS, RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryShape } from "../../proto/json/shapes";
import { ActionButton } from "../parts/action-button";
import { fromLocalInput, toLocalInput } from "../words/local-input";
import { ALL_DELIVERIES, channelsOf, isFiltered, type DeliveryFilter } from "../words/log-filter";

export interface LogFiltersProps {
  readonly log: readonly DeliveryShape[];
  readonly filter: DeliveryFilter;
  onFilter(filter: DeliveryFilter): void;
}

/** The filters of the log. Rarely used filters are hidden until one of them is set, or the user asks for them. */
export function LogFilters({ log, filter, onFilter }: LogFiltersProps) {
  const [isAsked, setAsked] = useState(false);
  const moreId = useId();
  const types = options(log.map(({ eventType }) => eventType).toSorted(), filter.eventType);
  const channels = options(channelsOf(log), filter.channel);
  const change = (what: Partial<DeliveryFilter>): void => onFilter({ ...filter, ...what });
  const isMore = isAsked || `${filter.message}${filter.from}${filter.to}` !== "";
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
      <Choice label="Event type" value={filter.eventType} onValue={(eventType) => change({ eventType })}>
        {types}
      </Choice>
      <Choice label="Channel" value={filter.channel} onValue={(channel) => change({ channel })}>
        {channels}
      </Choice>
      <Search label="Text" value={filter.text} onValue={(text) => change({ text })} />
      <Search label="Event id" value={filter.event} onValue={(event) => change({ event })} hint="evt_…" />
      <ActionButton aria-expanded={isMore} aria-controls={moreId} onClick={() => setAsked(!isMore)}>
        More
      </ActionButton>
      {isFiltered(filter) && <ActionButton onClick={() => onFilter(ALL_DELIVERIES)}>Show all</ActionButton>}
      <div id={moreId} class="more-filters" hidden={!isMore}>
        <Search
          label="Message id"
          value={filter.message}
          onValue={(message) => change({ message })}
          hint="msg_…"
        />
        <Time label="From" value={filter.from} onValue={(from) => change({ from })} />
        <Time label="Before" value={filter.to} onValue={(to) => change({ to })} />
      </div>
    </div>
  );
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  onValue(value: string): void;
}

function Choice({ label, value, onValue, children }: FilterProps & { readonly children: ComponentChildren }) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        <option value="">All</option>
        {children}
      </select>
    </label>
  );
}

function Search({ label, value, onValue, hint }: FilterProps & { readonly hint?: string }) {
  return (
    <label class="grow">
      <span>{label}</span>
      <input
        type="search"
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
        placeholder={hint}
        autocomplete="off"
        spellcheck={false}
      />
    </label>
  );
}

/** An input for a time in the chosen time zone. */
function Time({ label, value, onValue }: FilterProps) {
  return (
    <label class="grow">
      <span>{label}</span>
      <input
        type="datetime-local"
        step="1"
        value={toLocalInput(value)}
        onChange={({ currentTarget }) => onValue(fromLocalInput(currentTarget.value))}
      />
    </label>
  );
}

/** Returns an option for each value. The chosen value stays in the list even if the log no longer contains it. */
function options(values: readonly string[], chosen: string) {
  const all = new Set(chosen === "" ? values : [...values, chosen]);
  return [...all].map((each) => <option key={each}>{each}</option>);
}

function resultsOf(outcome: "failed" | "dropped") {
  return DELIVERY_RESULTS.filter((each) => RESULT_MEANINGS[each].outcome === outcome).map((each) => (
    <option key={each} value={each}>
      {RESULT_MEANINGS[each].words}
    </option>
  ));
}
