import { createStore, useStore } from "./store";

interface Announcement {
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 6_000;
const current = createStore<Announcement | undefined>(undefined);
let hide: ReturnType<typeof setTimeout> | undefined;

/** Says that something was done (or was not), to the eye and to screen readers. */
export function announce(text: string, tone: Announcement["tone"] = "good"): void {
  clearTimeout(hide);
  current.set({ text, tone });
  hide = setTimeout(() => current.set(undefined), SHOWN_MS);
}

/** Where announcements appear. It is always there, as screen readers only hear changes. */
export function Announcer() {
  const said = useStore(current);
  return (
    <div class="announcer" role="status" aria-live="polite">
      {said !== undefined && <p class={`announcement tone-${said.tone}`}>{said.text}</p>}
    </div>
  );
}
