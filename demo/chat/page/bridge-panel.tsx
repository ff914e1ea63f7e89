import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Exchange, LastCommand, LinkMode, LinkState } from "../shapes";
import { BreakIt } from "./break-it";
import type { ChatClient } from "./chat-client";
import { ExchangeView } from "./exchange-view";
import { Icon } from "./marks";
import { useRequest } from "./use-request";
import type { WantedEvent } from "./wanted-event";

const MODES: readonly (readonly [LinkMode, string, string])[] = [
  ["poll", "Polling", "The bridge asks for events every two seconds."],
  ["push", "Push (webhook)", "The service sends each event immediately."],
];

/** Media query for windows in which the panel is beside the chat. In narrower windows, the panel covers the chat. */
const WIDE = "(min-width: 1080px)";

export interface BridgePanelProps {
  readonly link: LinkState;
  readonly exchanges: readonly Exchange[];
  readonly client: ChatClient;
  /** URL of the workspace's page in the dashboard; null if DASHBOARD_URL is not set. */
  readonly dashboard: string | null;
  /** The command that the bridge reports before it breaks, so that a game answers. */
  readonly lastCommand: LastCommand;
  /**
   * The event that a link from the dashboard names; undefined if there was no link. The panel opens the event's
   * exchange.
   */
  readonly wanted: WantedEvent | undefined;
  onClose(): void;
}

/** The panel with the bridge's mode, its breaks and its latest exchanges. */
export function BridgePanel(props: BridgePanelProps) {
  const { link, exchanges, client, dashboard, lastCommand, wanted, onClose } = props;
  const { fault, send } = useRequest();
  const { mode, broken, isSwitching, whyFixed } = link;
  // An exchange that arrives later must not take the focus.
  const found = useMemo(
    () => wanted && exchanges.find(({ eventIds }) => eventIds.includes(wanted.id))?.id,
    [wanted],
  );
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!matchMedia(WIDE).matches) heading.current?.focus();
  }, []);
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === "Escape" && !matchMedia(WIDE).matches) onClose();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [onClose]);
  return (
    <aside class="panel" aria-label="The bridge">
      <div class="panel-head">
        <h2 ref={heading} tabIndex={-1}>
          The bridge
        </h2>
        <button type="button" class="button quiet-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <fieldset class="modes" disabled={whyFixed !== null || isSwitching || broken !== null}>
        <legend class="unseen">How the bridge gets its events</legend>
        {MODES.map(([each, label, hint]) => (
          <label key={each} class="mode">
            <input
              type="radio"
              name="mode"
              checked={mode === each}
              onChange={() => void send(() => client.setMode(each))}
            />
            <span>
              <strong>{label}</strong>
              <span class="hint">{hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {whyFixed !== null && <p class="hint">{whyFixed}</p>}
      <BreakIt link={link} client={client} dashboard={dashboard} lastCommand={lastCommand} send={send} />
      <p class="fault" role="alert">
        {fault}
      </p>
      <h3 id="wire-title">On the wire, newest first</h3>
      <p class="hint">Choose a request to see how it was signed.</p>
      <p class="hint" role="status">
        {wanted !== undefined &&
          found === undefined &&
          "The linked event is not in this list, which shows only the latest 100 requests."}
      </p>
      <ol class="wire" aria-labelledby="wire-title">
        {exchanges.length === 0 && <li class="hint">Nothing yet.</li>}
        {exchanges.map((exchange) => (
          <ExchangeView
            key={exchange.id}
            exchange={exchange}
            client={client}
            dashboard={dashboard}
            wanted={exchange.id === found ? wanted : undefined}
          />
        ))}
      </ol>
    </aside>
  );
}
