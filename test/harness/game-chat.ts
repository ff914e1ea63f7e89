import type { Message } from "../../kit/events";
import { post, poll } from "./bridge";
import { startProcess, TOKENS, type TestProcess } from "./processes";
import type { TestWorkspace } from "./service";
import { until } from "./wait";

const PACE = { ROUNDS: "2", QUESTION_SECONDS: "20", REVEAL_SECONDS: "1", LOBBY_SECONDS: "60" };

/** The fields of an outbound event that tests read. */
export interface Shown {
  readonly id: string;
  readonly type: string;
  readonly channel?: string;
  readonly user?: string;
  readonly message: Message;
}

export type Chat = ReturnType<typeof openChat>;

/** Returns a bridge of a workspace. The bridge reports what members do, and polls for messages to show. */
export function openChat(url: string, workspace: TestWorkspace) {
  const shown: Shown[] = [];
  const seen = new Set<string>();
  let after = "";
  let requests = 0;

  async function report(event: object): Promise<void> {
    const { status } = await post(url, workspace, { id: `r${++requests}`, ...event });
    expect(status).toBe(202);
  }
  async function fetchNew(): Promise<void> {
    const { status, json } = await poll(url, workspace, after);
    // An edge answers with 503 while core is unavailable.
    if (status === 503) return;
    expect(status).toBe(200);
    const page = json as { events: Shown[]; next: string | null };
    // Several calls of `sees` may poll at the same time, and then get the same events.
    const known = new Set(shown.map(({ id }) => id));
    shown.push(...page.events.filter(({ id }) => !known.has(id)));
    if (page.next !== null) after = `after=${page.next}`;
  }
  const user = (id: string): object => ({ id, name: `*${id}*` });

  return {
    shown: shown as readonly Shown[],
    command: (who: string, text: string, channel = "c1") =>
      report({ type: "command", channel, user: user(who), text }),
    /** Presses the button whose label contains `label`. */
    press(who: string, { message, channel = "c1" }: Shown, label: string, at = channel) {
      const button = message.buttons.flat().find((each) => each.label.includes(label));
      const action = button && "action" in button ? button.action : "";
      return report({ type: "action", channel: at, user: user(who), messageId: message.id, action });
    },
    types: (who: string, text: string, { channel = "c1", ...more }: { channel?: string; replyTo?: string }) =>
      report({ type: "message", channel, user: user(who), text, ...more }),
    /** Waits for a matching event that earlier calls have not returned. */
    sees: (type: string, kind: string, where: { channel?: string; user?: string } = {}) =>
      until(`${type} of the kind ${kind}`, async () => {
        const isIt = (event: Shown): boolean =>
          !seen.has(event.id) &&
          event.type === type &&
          event.message.kind === kind &&
          Object.entries(where).every(([name, value]) => event[name as "channel" | "user"] === value);
        if (!shown.some(isIt)) await fetchNew();
        const found = shown.find(isIt);
        if (found !== undefined) seen.add(found.id);
        return found;
      }),
  };
}

/** Starts the trivia game, connected to a core on loopback. Resolves when the game follows events. */
export function startGame(corePort: number, environment: Record<string, string> = {}): Promise<TestProcess> {
  return startProcess("demo/game", {
    CORE_ADDRESS: `127.0.0.1:${corePort}`,
    CORE_TOKEN: TOKENS.game,
    PICTURES_LISTEN: "127.0.0.1:0",
    ...PACE,
    ...environment,
  });
}
