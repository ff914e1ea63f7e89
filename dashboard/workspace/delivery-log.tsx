import { useRef, useState } from "preact/hooks";
import { POLLS_LOGGED_MAX, PUSHES_LOGGED_MAX } from "../../contract/deliveries";
import type { DeliveryShape, Mode, WorkspaceShape } from "../../proto/json/shapes";
import { ActionButton } from "../parts/action-button";
import { Loading } from "../parts/loading";
import { loggedWords } from "../words/delivery-list";
import { filterDeliveries, isFiltered } from "../words/log-filter";
import { pageOf, toRows } from "../words/log-rows";
import { splitFailed } from "../words/send-again-words";
import { DeliveryRow } from "./delivery-row";
import { ExportButton } from "./export-button";
import { LogFilters } from "./log-filters";
import { LogPager } from "./log-pager";
import { SendAgainBar } from "./send-again-bar";
import { useHeldLog } from "./use-held-log";
import { useLogView } from "./use-log-view";
import { useSendAgain } from "./use-send-again";

const WHAT_APPEARS: Readonly<Record<Mode, string>> = {
  push: "Push attempts appear here live. Send a test event to make the first attempt.",
  poll: "The bridge's polls appear here live.",
  none: "Deliveries to a connected bridge appear here.",
};

export interface DeliveryLogProps {
  /** Newest first; undefined while loading. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly workspace: WorkspaceShape;
}

/** Shows the delivery log of a workspace, page by page. The browser filters the whole log. */
export function DeliveryLog({ deliveries, workspace }: DeliveryLogProps) {
  return (
    <section class="card log-card" aria-labelledby="log-title">
      {deliveries === undefined ? (
        <>
          <h2 id="log-title">Delivery log</h2>
          <Loading what="Loading the log" />
        </>
      ) : (
        <LoadedLog deliveries={deliveries} workspace={workspace} />
      )}
    </section>
  );
}

const NONE: ReadonlySet<string> = new Set();

/** New entries appear live, unless the user reads an older page, has paused the log, or has opened or selected a row. */
function LoadedLog({ deliveries, workspace }: DeliveryLogProps & { deliveries: readonly DeliveryShape[] }) {
  const { filter, page: wanted, open, show, toggle } = useLogView();
  const [isPaused, setPaused] = useState(false);
  const [selected, setSelected] = useState(NONE);
  const heading = useRef<HTMLHeadingElement>(null);
  const sendAgain = useSendAgain(workspace, deliveries);
  const chosen = [...selected].filter((id) => sendAgain.sendable.has(id));
  // The URL may name rows that the log no longer has.
  const isReading = deliveries.some(({ id, eventId }) => open.has(eventId) || open.has(id));
  const isHeld = isPaused || wanted > 1 || isReading || chosen.length > 0;
  const { log, newer, showNewer } = useHeldLog(deliveries, isHeld);

  const found = filterDeliveries(log, filter);
  const rows = toRows(found);
  const unseen = toRows(filterDeliveries(newer, filter)).length;
  const { rows: shown, page, pages } = pageOf(rows, wanted);
  const matching = new Set(found.map(({ eventId }) => eventId));
  const failed = [...sendAgain.failed.values()].filter(
    ({ eventId }) => !isFiltered(filter) || matching.has(eventId),
  );
  const { choosable, leftOut } = splitFailed(failed, sendAgain.sendable);

  function showPage(to: number): void {
    show({ filter, page: to });
    const isAbove = (heading.current?.getBoundingClientRect().top ?? 0) < 0;
    if (isAbove) heading.current?.scrollIntoView({ block: "start" });
  }

  function showNewest(): void {
    setPaused(false);
    showNewer();
    show({ filter, page: 1 });
  }

  return (
    <>
      <div class="card-heading">
        <h2 id="log-title" ref={heading} tabIndex={-1}>
          Delivery log
        </h2>
        {log.length > 0 && (
          <p class="hint">
            {loggedWords(log)}
            <span role="status">
              {isFiltered(filter) && ` – ${rows.length} of ${toRows(log).length} match.`}
            </span>
          </p>
        )}
        <div class="row log-buttons">
          {unseen > 0 && (
            <ActionButton look="primary" onClick={showNewest}>
              {unseen} new
            </ActionButton>
          )}
          {log.length > 0 && <ExportButton found={found} workspaceId={workspace.id} />}
          {log.length > 0 && (
            <ActionButton onClick={() => setPaused(!isPaused)}>{isPaused ? "Resume" : "Pause"}</ActionButton>
          )}
        </div>
      </div>
      {log.length === 0 ? (
        <p class="empty-line">No deliveries yet. {WHAT_APPEARS[workspace.mode]}</p>
      ) : (
        <>
          <LogFilters log={log} filter={filter} onFilter={(changed) => show({ filter: changed, page: 1 })} />
          <SendAgainBar
            sendAgain={sendAgain}
            choosable={choosable}
            leftOut={sendAgain.disabled === undefined ? leftOut : undefined}
            chosen={chosen}
            onChoose={(ids) => setSelected(new Set(ids))}
            onSent={showNewest}
          />
          {shown.length > 0 && (
            <ol class="log" aria-label="Deliveries, newest first">
              {shown.map((row) => (
                <DeliveryRow
                  key={row.id}
                  row={row}
                  deliveries={deliveries}
                  workspaceId={workspace.id}
                  sendAgain={sendAgain}
                  isOpen={open.has(row.name)}
                  onToggle={() => toggle(row.name)}
                  {...(sendAgain.sendable.has(row.delivery.eventId) && {
                    isChosen: selected.has(row.delivery.eventId),
                    onChoose: () => setSelected(toggled(selected, row.delivery.eventId)),
                  })}
                />
              ))}
            </ol>
          )}
          <div class="log-end">
            <LogPager page={page} pages={pages} onPage={showPage} />
            <p class="hint">
              The log keeps the last {PUSHES_LOGGED_MAX.toLocaleString("en")} push attempts and{" "}
              {POLLS_LOGGED_MAX} entries of polls, for 7 days.
            </p>
          </div>
        </>
      )}
    </>
  );
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return set.has(id) ? new Set([...set].filter((each) => each !== id)) : new Set([...set, id]);
}
