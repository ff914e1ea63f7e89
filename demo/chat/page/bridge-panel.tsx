import { useEffect, useRef } from "preact/hooks";
import type { Exchange, LinkMode, LinkState } from "../shapes";
import type { ChatClient } from "./chat-client";
import { ExchangeView } from "./exchange-view";
import { Icon } from "./marks";
import { useRequest } from "./use-request";

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
  onClose(): void;
}

/** The panel with the bridge's mode, network and latest exchanges. */
export function BridgePanel({ link, exchanges, client, onClose }: BridgePanelProps) {
  const { fault, send } = useRequest();
  const { mode, isCut, isSwitching, whyFixed, problem } = link;
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
      <fieldset class="modes" disabled={whyFixed !== null || isSwitching || isCut}>
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
      <button
        type="button"
        class={isCut ? "button small primary cut" : "button small cut"}
        onClick={() => void send(() => client.setCut(!isCut))}
      >
        {isCut ? "Restore the network" : "Cut the network"}
      </button>
      <p class="link-status" role="status">
        {isCut
          ? mode === "poll"
            ? "Cut: nothing gets through. When you restore the network, the bridge catches up with the held events."
            : "Cut: nothing gets through. Pushes fail, and are lost after at most two retries."
          : (problem ?? "")}
      </p>
      <p class="fault" role="alert">
        {fault}
      </p>
      <h3 id="wire-title">On the wire, newest first</h3>
      <p class="hint">Choose a request to see how it was signed.</p>
      <ol class="wire" aria-labelledby="wire-title">
        {exchanges.length === 0 && <li class="hint">Nothing yet.</li>}
        {exchanges.map((exchange) => (
          <ExchangeView key={exchange.id} exchange={exchange} />
        ))}
      </ol>
    </aside>
  );
}

/** Returns the CSS class and the text for the state of the bridge. */
export function linkWords({
  mode,
  isCut,
  isSwitching,
  problem,
}: LinkState): readonly [tone: string, words: string] {
  if (isCut) return ["bad", "Network cut"];
  if (isSwitching) return ["warn", "Switching"];
  if (problem !== null) return ["warn", "Not connected"];
  return ["good", mode === "poll" ? "Polling" : "Push"];
}
