import { createStore, useStore } from "./store";

interface Announcement {
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 6_000;
const current = createStore<Announcement | undefined>(undefined);
let hide: ReturnType<typeof setTimeout> | undefined;

/** Shows the outcome of an action for 6 seconds. Screen readers read the text out. */
export function announce(text: string, tone: Announcement["tone"] = "good"): void {
  clearTimeout(hide);
  current.set({ text, tone });
  hide = setTimeout(() => current.set(undefined), SHOWN_MS);
}

/**
 * Shows announcements. The element is always in the page, because screen readers announce only changes within an
 * existing element.
 */
export function Announcer() {
  const said = useStore(current);
  return (
    <div class="announcer" role="status" aria-live="polite">
      {said !== undefined && <p class={`announcement tone-${said.tone}`}>{said.text}</p>}
    </div>
  );
}
