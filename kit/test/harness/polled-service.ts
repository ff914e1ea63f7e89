import { cursorInMemory, type CursorStore } from "../../cursor-store";
import type { EventPage } from "../../events";
import { runWatchedPoller, type WatchedPollerOptions } from "../../poller";
import { sayNothing, status, type Behaviour } from "../../../test/harness/behaviours";
import { signatureOf } from "../../../test/harness/bridge";
import { startReceiver } from "../../../test/harness/receiver";
import { WORKSPACE } from "../../../test/harness/sample-events";
import { skipTime } from "./skipped-time";

export const SECRET = "secret-one";

export type PolledService = Awaited<ReturnType<typeof startPolledService>>;

/**
 * Returns a behaviour that makes the stub answer with a page, as the service does. By default, the page is correctly
 * signed.
 */
export function pageOf(
  change: Partial<Record<keyof EventPage, unknown>> = {},
  signed = (body: string) => signatureOf(SECRET, body),
): Behaviour {
  const body = JSON.stringify({ events: [], next: "7", hasMore: false, gap: false, ...change });
  const headers = { "Service-Signature": signed(body), "Service-Workspace": WORKSPACE };
  return status(200, { headers, body });
}

export async function cursorAt(cursor: string): Promise<CursorStore> {
  const store = cursorInMemory();
  await store.save(cursor);
  return store;
}

/** Starts a stub of the service. The test chooses the stub's answers to polls. */
export async function startPolledService() {
  const service = await startReceiver();
  const pages: EventPage[] = [];
  /** The options of a poller, except `signal`. */
  const options = () => ({
    baseUrl: `http://127.0.0.1:${service.port}`,
    workspaceId: WORKSPACE,
    secrets: SECRET,
    cursors: cursorInMemory(),
    handle: (page: EventPage) => void pages.push(page),
  });

  /** Runs a poller, and answers its requests with `answers` in turn. The next request after these stops the poller. */
  async function run(answers: readonly Behaviour[], change: Partial<WatchedPollerOptions> = {}) {
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
    const all = { ...options(), timing, report, onPage: () => undefined, ...change, signal: abort.signal };
    const error: unknown = await runWatchedPoller(all).catch((reason: unknown) => reason);
    const requests = service.requests.slice(requestsBefore);
    return {
      requests,
      /** The query of each request, with the `?`. */
      queries: requests.map(({ path }) => path.replace(`/hooks/${WORKSPACE}/events`, "")),
      pages: pages.slice(pagesBefore),
      problems,
      pauses: timing.pauses,
      error,
      cursor: await all.cursors.load(),
    };
  }
  return { requests: service.requests, options, run, behave: service.behave, close: service.close };
}
