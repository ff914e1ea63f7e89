import type { Mode } from "../../proto/json/shapes";
import type { Tone } from "../words/health-words";
import { Icon } from "./icon";

export function ToneBadge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`badge tone-${tone}`}>
      <span class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

const MODE_WORDS: Readonly<Record<Mode, string>> = { poll: "Poll", push: "Push (webhook)", none: "Off" };
const MODE_ICONS = { poll: "poll", push: "push", none: "off" } as const;

export function ModeBadge({ mode }: { readonly mode: Mode }) {
  return (
    <span class="badge mode">
      <Icon name={MODE_ICONS[mode]} />
      {MODE_WORDS[mode]}
    </span>
  );
}
