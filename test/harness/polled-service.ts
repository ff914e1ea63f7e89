import { cursorInMemory, type CursorStore } from "../../bridge/cursor-store";
import type { EventPage } from "../../bridge/events";
import { runPoller, type PollerOptions } from "../../bridge/poller";
import { sayNothing, status, type Behaviour } from "./behaviours";
import { signatureOf } from "./bridge";
import { startReceiver, type ReceivedRequest } from "./receiver";
import { WORKSPACE } from "./sample-events";
import { skipTime } from "./skipped-time";

export const SECRET = "secret-one";

/** A service of a test's own that answers polls as the test says. */
export interface PolledService {
  readonly requests: readonly ReceivedRequest[];
  /** Runs a poller against answers in turn; it is stopped when it asks for one more. */
  run(answers: readonly Behaviour[], options?: Partial<PollerOptions>): Promise<PollerRun>;
  /** What a poller of this service is made with, beside its signal. */
  options(): Omit<PollerOptions, "signal">;
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
}

/** What a poller did. */
export interface PollerRun {
  readonly requests: readonly ReceivedRequest[];
  /** Of each request, its query with the `?`. */
  readonly queries: readonly string[];
  /** What it handed to its handler, and what it reported. */
  readonly pages: readonly EventPage[];
  readonly problems: readonly string[];
  /** How long it waited between two polls, in ms. */
  readonly pauses: readonly number[];
  /** What it rejected with, if it did. */
  readonly error: unknown;
  /** What it kept. */
  readonly cursor: string | undefined;
}

/** A page as the service answers it, rightly signed unless told otherwise. */
export function pageOf(
  change: Partial<Record<keyof EventPage, unknown>> = {},
  signed = (body: string) => signatureOf(SECRET, body),
): Behaviour {
  const page = { events: [], next: "7", hasMore: false, gap: false, ...change };
  const body = JSON.stringify(page);
  const headers = { "Service-Signature": signed(body), "Service-Workspace": WORKSPACE };
  return status(200, { headers, body });
}

export async function cursorAt(cursor: string): Promise<CursorStore> {
  const store = cursorInMemory();
  await store.save(cursor);
  return store;
}

export async function startPolledService(): Promise<PolledService> {
  const service = await startReceiver();
  const pages: EventPage[] = [];
  const options = () => ({
    baseUrl: `http://127.0.0.1:${service.port}`,
    workspaceId: WORKSPACE,
    secrets: SECRET,
    timeoutMs: 10_000,
    cursors: cursorInMemory(),
    handle: (page: EventPage) => void pages.push(page),
  });
  return {
    requests: service.requests,
    options,
    behave: service.behave,
    close: service.close,
    async run(answers, change = {}) {
      const timing = skipTime();
      const abort = new AbortController();
      const problems: string[] = [];
      const [requestsBefore, pagesBefore] = [service.requests.length, pages.length];
      service.behave(() => {
        const answer = answers[service.requests.length - requestsBefore - 1];
        if (answer === undefined) abort.abort();
        return answer ?? sayNothing();
      });
      const report = ({ message }: Error) => void problems.push(message);
      const all = { ...options(), timing, report, ...change, signal: abort.signal };
      const error: unknown = await runPoller(all).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const requests = service.requests.slice(requestsBefore);
      return {
        requests,
        queries: requests.map(({ path }) => path.replace(`/hooks/${WORKSPACE}/events`, "")),
        pages: pages.slice(pagesBefore),
        problems,
        pauses: timing.pauses,
        error,
        cursor: await all.cursors.load(),
      };
    },
  };
}
