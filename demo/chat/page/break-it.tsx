import { useRef } from "preact/hooks";
import { BREAKS, PUSH_BREAKS, type Break, type LastCommand, type LinkState } from "../shapes";
import { BREAK_WORDS, repairWords } from "./break-words";
import type { ChatClient } from "./chat-client";
import { DASHBOARD_WINDOW, openDashboard } from "./open-dashboard";

export interface BreakItProps {
  readonly link: LinkState;
  readonly client: ChatClient;
  /** URL of the workspace's page in the dashboard; null if DASHBOARD_URL is not set. */
  readonly dashboard: string | null;
  /** The command that the bridge reports before it breaks, so that a game answers. */
  readonly lastCommand: LastCommand;
  /** Sends a request, and shows why it failed. */
  send(request: () => Promise<unknown>): Promise<boolean>;
}

/** The buttons that break and repair the bridge. Breaking the bridge also opens the dashboard in a second window. */
export function BreakIt({ link, client, dashboard, lastCommand, send }: BreakItProps) {
  const { broken, isSwitching, whyFixed } = link;
  const heading = useRef<HTMLHeadingElement>(null);
  const isBlocked = (how: Break): boolean => whyFixed !== null && PUSH_BREAKS.includes(how);

  function begin(how: Break): void {
    if (broken !== null || isSwitching || isBlocked(how)) return;
    if (dashboard !== null) void openDashboard(client, dashboard, null);
    void send(() => client.break(how, lastCommand));
  }

  async function repair(): Promise<void> {
    // The button disappears with the repair, so the focus moves to the heading.
    if (await send(client.repair)) heading.current?.focus({ preventScroll: true });
  }

  return (
    <section class="break-it" aria-labelledby="break-title">
      <h3 id="break-title" ref={heading} tabIndex={-1}>
        Break it
      </h3>
      <p class="hint">
        {dashboard === null
          ? "See what the games and the other members notice. Then repair the bridge."
          : "The dashboard opens in a second window, and says what is wrong."}
      </p>
      <div class="breaks" role="group" aria-labelledby="break-title">
        {BREAKS.map((how) => (
          <button
            key={how}
            type="button"
            class={broken?.how === how ? "button small chosen" : "button small"}
            aria-pressed={broken?.how === how}
            aria-disabled={broken !== null || isSwitching || isBlocked(how)}
            onClick={() => begin(how)}
          >
            {BREAK_WORDS[how].button}
          </button>
        ))}
      </div>
      {whyFixed !== null && <p class="hint">A slow bridge and the answer 503 need pushes.</p>}
      {/* The banner of the chat announces the break to screen readers. */}
      {broken !== null && (
        <p class="link-status">
          <strong>{BREAK_WORDS[broken.how].state}</strong> {repairWords(link)}
        </p>
      )}
      <p class="link-status" role="status">
        {broken === null && link.problem}
      </p>
      <p class="repair">
        {broken !== null && (
          <button type="button" class="button small primary" onClick={() => void repair()}>
            Repair
          </button>
        )}
        {dashboard !== null && (
          <a
            class="button small"
            href={dashboard}
            target={DASHBOARD_WINDOW}
            onClick={(event) => {
              event.preventDefault();
              void openDashboard(client, dashboard, null);
            }}
          >
            Open the dashboard
          </a>
        )}
      </p>
    </section>
  );
}
