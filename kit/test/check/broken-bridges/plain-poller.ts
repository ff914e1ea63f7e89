import { setTimeout as sleep } from "node:timers/promises";
import type { EventPage, OutboundEvent } from "../../../events";
import type { PollerPlace } from "../../../check/poll/check-poller";
import type { RunningPoller } from "./kit-poller";
import { SECRET, type MemoryChat } from "./memory-chat";
import { digestOf } from "./plain-bridge";
import { CORRECT_SHOW, createPlainShow, type ShowChange } from "./plain-show";

/** An answer to a poll. */
interface PlainAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly raw: Buffer;
}

/** The state of a bridge that polls. */
export interface PollState {
  /** The cursor; null for none. */
  readonly after: string | null;
  /** Time at which the bridge started, by its own clock, in seconds. */
  readonly startedAt: number;
}

/**
 * The steps and settings of a correct bridge that polls. Each broken bridge replaces some of these steps and settings.
 */
const CORRECT = {
  ...CORRECT_SHOW,
  intervalMs: 2_000,
  /** Whether the bridge waits before it polls again after a page with `hasMore: true`. */
  waitsForMore: false,
  path: (workspace: string) => `/hooks/${workspace}/events`,
  /** Returns the query string of a poll. */
  query: ({ after }: PollState) => (after === null ? "" : `after=${after}`),
  /** Returns the text that the bridge signs, without the timestamp. */
  signedText: (query: string, _path: string) => query,
  /**
   * Returns the bridge's time in seconds, for its signatures and for comparison with the timestamps of pages.
   */
  now: (_state: PollState) => Math.floor(Date.now() / 1000),
  key: SECRET,
  sendsSignature: true,
  /** Returns the bytes over which the bridge checks the signature of a page. */
  covered: (raw: Buffer): Buffer | string => raw,
  /** Decodes a page to the text that the bridge parses as JSON. */
  decode: (raw: Buffer) => raw.toString(),
  isRight: (digest: string, expected: string) => digest === expected,
  entries: (all: readonly string[]) => all,
  checksForm: true,
  toleranceSeconds: 300,
  /** Returns the milliseconds to wait after a failed poll; undefined if the bridge stops polling. */
  waitAfter: (_status: number, retryAfter: number): number | undefined => Math.max(2_000, retryAfter * 1_000),
  /** Returns the cursor after a failed poll; the status is 0 if there was no answer. */
  afterFailure: (after: string | null, _status: number) => after,
  /** Returns the cursor after a page. */
  afterPage: ({ next }: EventPage, _after: string | null): string | null => next,
  /** Returns the events of a page that the bridge shows, in order. Throws if the bridge fails on the page. */
  read: (page: EventPage): readonly OutboundEvent[] => page.events,
  /** Returns the event that the bridge sends when it starts; null for none. */
  sends: null as object | null,
  /** Returns the body of a retry, given the body of the first attempt. */
  resent: (body: string): string => body,
  resendsSignature: false,
  retriesEvents: true,
};

export type PollerChange = Partial<Omit<typeof CORRECT, "onlyFor">> & ShowChange;

/** The types of events that this bridge can show. */
const SHOWN: ReadonlySet<string> = new Set([
  "message.create",
  "message.update",
  "message.ephemeral",
  "dm.create",
]);

/** Starts a bridge that polls, does not use the kit, and is correct except for `change`. */
export function startPlainPoller(
  { baseUrl, workspace }: PollerPlace,
  chat: MemoryChat,
  change: PollerChange = {},
): RunningPoller {
  const steps = { ...CORRECT, ...change };
  const show = createPlainShow(steps, chat);
  const stopping = new AbortController();
  const startedAt = Math.floor(Date.now() / 1000);
  let after: string | null = null;

  const headersOf = (text: string, t: string): Record<string, string> =>
    steps.sendsSignature ? { "Service-Signature": `t=${t},v1=${digestOf(t, text, steps.key)}` } : {};
  const now = () => String(steps.now({ after, startedAt }));

  async function call(path: string, init: RequestInit): Promise<PlainAnswer | undefined> {
    try {
      const answer = await fetch(`${baseUrl}${path}`, { ...init, signal: stopping.signal });
      const raw = Buffer.from(await answer.arrayBuffer());
      return { status: answer.status, headers: answer.headers, raw };
    } catch {
      return undefined;
    }
  }

  function isValid({ headers, raw }: PlainAnswer): boolean {
    const header = headers.get("service-signature") ?? "";
    const [, t = "", all = ""] = /^t=(\d+)((?:,v1=[0-9a-f]+)+)$/.exec(header) ?? [];
    if (t === "" && steps.checksForm) return false;
    const expected = digestOf(t, steps.covered(raw));
    const entries = steps.entries(all.split(",v1=").slice(1));
    if (steps.checksForm && !entries.some((digest) => steps.isRight(digest, expected))) return false;
    return Math.abs(Number(now()) - Number(t)) <= steps.toleranceSeconds;
  }

  /** Polls once. Returns the milliseconds to wait before the next poll; undefined to stop polling. */
  async function turn(): Promise<number | undefined> {
    const query = steps.query({ after, startedAt });
    const path = steps.path(workspace);
    const headers = headersOf(steps.signedText(query, path), now());
    const answer = await call(query === "" ? path : `${path}?${query}`, { headers });
    const status = answer?.status ?? 0;
    if (answer === undefined || status !== 200 || !isValid(answer)) {
      after = steps.afterFailure(after, status);
      return steps.waitAfter(status, Number(answer?.headers.get("retry-after") ?? 0));
    }
    const page = JSON.parse(steps.decode(answer.raw)) as EventPage;
    try {
      for (const event of steps.read(page)) if (SHOWN.has(event.type)) show.take(event);
    } catch {
      return steps.intervalMs;
    }
    await show.done();
    after = steps.afterPage(page, after);
    return page.hasMore && !steps.waitsForMore ? 0 : steps.intervalMs;
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function poll(): Promise<void> {
    for (;;) {
      const ms = await turn();
      if (ms === undefined) return;
      if (ms > 0) await pause(ms);
      if (stopping.signal.aborted) return;
    }
  }

  async function send(event: object): Promise<void> {
    const post = (body: string, headers: Record<string, string>) =>
      call(`/hooks/${workspace}`, { method: "POST", body, headers });
    const body = JSON.stringify(event);
    const headers = headersOf(body, now());
    const answer = await post(body, headers);
    if (answer?.status !== 503 || !steps.retriesEvents) return;
    await pause(Number(answer.headers.get("retry-after")) * 1_000);
    const again = steps.resent(body);
    await post(again, steps.resendsSignature ? headers : headersOf(again, now()));
  }

  const work = Promise.all([poll(), steps.sends === null ? undefined : send(steps.sends)]);
  return {
    async stop() {
      stopping.abort();
      await work;
    },
  };
}
