import type { RefObject } from "preact";
import { useStore } from "../../../dashboard/store";
import { chooseTheme, chosenTheme, THEMES } from "../../../dashboard/theme";
import type { Member } from "../shapes";
import { Avatar } from "./avatar";
import { Icon } from "./icon";
import type { LinkWords } from "./link-words";

const AVATARS_SHOWN = 5;

export interface TopBarProps {
  readonly title: string;
  readonly members: readonly Member[];
  readonly me: Member;
  readonly words: LinkWords;
  readonly isPanelOpen: boolean;
  readonly panelButton: RefObject<HTMLButtonElement | null>;
  onPanel(): void;
}

export function TopBar({ title, members, me, words, isPanelOpen, panelButton, onPanel }: TopBarProps) {
  const theme = useStore(chosenTheme);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  const names = members.map(({ id, name }) => (id === me.id ? "you" : name)).join(", ");
  return (
    <header class="top-bar">
      <h1>{title}</h1>
      {members.length > 0 && (
        <p class="here" title={names}>
          {members.slice(0, AVATARS_SHOWN).map(({ id, name }) => (
            <Avatar key={id} id={id} name={name} />
          ))}
          <span>
            {members.length} here<span class="unseen">: {names}</span>
          </span>
        </p>
      )}
      <button
        type="button"
        class="button quiet-button"
        aria-label={`Theme: ${theme}. Change to ${next}`}
        title={`Theme: ${theme}`}
        onClick={() => chooseTheme(next)}
      >
        <Icon name="theme" />
      </button>
      <button
        ref={panelButton}
        type="button"
        class="button bridge-button"
        aria-expanded={isPanelOpen}
        onClick={onPanel}
      >
        <span class={`dot ${words.tone}`} aria-hidden="true" />
        <span>
          Bridge<span class="link-words">: {words.text}</span>
        </span>
      </button>
    </header>
  );
}
