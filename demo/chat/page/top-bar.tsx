import type { RefObject } from "preact";
import type { LinkState } from "../shapes";

export interface TopBarProps {
  readonly title: string;
  readonly link: LinkState;
  readonly isPanelOpen: boolean;
  readonly panelButton: RefObject<HTMLButtonElement | null>;
  onPanel(): void;
}

export function TopBar({ title, link, isPanelOpen, panelButton, onPanel }: TopBarProps) {
  const [tone, words] = linkWords(link);
  return (
    <header class="top-bar">
      <h1>{title}</h1>
      <button
        ref={panelButton}
        type="button"
        class="button bridge-button"
        aria-expanded={isPanelOpen}
        onClick={onPanel}
      >
        <span class={`dot ${tone}`} aria-hidden="true" />
        <span>
          Bridge<span class="link-words">: {words}</span>
        </span>
      </button>
    </header>
  );
}

/** The state of the bridge in a few words. */
function linkWords({ mode, isCut, isSwitching, problem }: LinkState): readonly [tone: string, words: string] {
  if (isCut) return ["bad", "Network cut"];
  if (isSwitching) return ["warn", "Switching"];
  if (problem !== null) return ["warn", "Not connected"];
  return ["good", mode === "poll" ? "Polling" : "Receiving pushes"];
}
