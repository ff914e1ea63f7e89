import type { RefObject } from "preact";
import type { LinkState, Member } from "../shapes";
import { Avatar } from "./avatar";

const AVATARS_SHOWN = 5;

export interface TopBarProps {
  readonly title: string;
  /** The members who are here; none in a direct conversation. */
  readonly members: readonly Member[];
  readonly me: Member;
  readonly link: LinkState;
  readonly isPanelOpen: boolean;
  readonly panelButton: RefObject<HTMLButtonElement | null>;
  onPanel(): void;
}

export function TopBar({ title, members, me, link, isPanelOpen, panelButton, onPanel }: TopBarProps) {
  const names = members.map(({ id, name }) => (id === me.id ? "you" : name)).join(", ");
  const [tone, words] = linkWords(link);
  return (
    <header class="top-bar">
      <h1>{title}</h1>
      {members.length > 0 && (
        <p class="here" title={names}>
          {members.slice(0, AVATARS_SHOWN).map((member) => (
            <Avatar key={member.id} {...member} />
          ))}
          <span>
            {members.length} here<span class="unseen">: {names}</span>
          </span>
        </p>
      )}
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
