import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { poll, post } from "../harness/bridge";
import type { TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

/** The outcomes of a load's requests, and of the commands in these requests. */
export interface LoadReport {
  readonly sent: number;
  /** The number of requests that were accepted, on the first attempt or a later one. */
  readonly accepted: number;
  /** The number of accepted commands that the game answered, and the number that it answered more than once. */
  readonly answered: number;
  readonly answeredTwice: number;
  /** The number of answers to POSTs, by status or error code. */
  readonly answers: Readonly<Record<string, number>>;
}

interface LoadOptions {
  readonly url: string;
  readonly workspace: TestWorkspace;
  readonly perSecond: number;
  /** Whether a failed request is repeated with the same id, as the bridge guide requires. */
  readonly repeats: boolean;
}

const REPEAT_AFTER_MS = 500;
const POLL_EVERY_MS = 200;
const ANSWERED_WITHIN_MS = 90_000;

/**
 * Posts commands at a constant rate, each from a different member in a different channel, and polls for the answers of
 * the demo's game.
 */
export function startSteadyLoad({ url, workspace, perSecond, repeats }: LoadOptions) {
  const name = randomUUID();
  const accepted = new Set<string>();
  /** The ids of the game's answers, by channel. */
  const answeredIn = new Map<string, Set<string>>();
  const answers: Record<string, number> = {};
  const posts: Promise<void>[] = [];
  const ending = new AbortController();
  const over = new AbortController();

  async function report(channel: string): Promise<void> {
    const event = { id: randomUUID(), type: "command", channel, user: { id: channel }, text: "help" };
    for (;;) {
      const got = await post(url, workspace, event).then(
        ({ status }) => String(status),
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      );
      answers[got] = (answers[got] ?? 0) + 1;
      if (got === "202") accepted.add(channel);
      if (got === "202" || !repeats) return;
      await sleep(REPEAT_AFTER_MS);
    }
  }

  async function postAll(): Promise<void> {
    const begin = performance.now();
    for (let number = 1; !ending.signal.aborted; number++) {
      posts.push(report(`${name}-${number}`));
      await sleep(Math.max(0, begin + (number * 1_000) / perSecond - performance.now()));
    }
  }

  async function pollAll(): Promise<void> {
    let after = "0";
    while (!over.signal.aborted) {
      const got = await poll(url, workspace, `after=${after}&limit=100`).catch(() => undefined);
      const page = got?.status === 200 ? (got.json as Page) : undefined;
      for (const { id, channel } of page?.events ?? []) {
        answeredIn.set(channel, (answeredIn.get(channel) ?? new Set()).add(id));
      }
      after = page?.next ?? after;
      if (page?.hasMore !== true) await sleep(POLL_EVERY_MS);
    }
  }

  const posting = postAll();
  const polling = pollAll();
  return {
    accepted: (): number => accepted.size,
    /** Stops posting, waits until the game has answered all accepted commands, and reports. */
    async finish(): Promise<LoadReport> {
      ending.abort();
      await posting;
      await Promise.all(posts);
      const isAnswered = (channel: string): boolean => answeredIn.has(channel);
      const all = (): boolean => [...accepted].every(isAnswered);
      await until("the game has answered all commands", all, ANSWERED_WITHIN_MS).catch(() => undefined);
      over.abort();
      await polling;
      return {
        sent: posts.length,
        accepted: accepted.size,
        answered: [...accepted].filter(isAnswered).length,
        answeredTwice: [...accepted].filter((channel) => (answeredIn.get(channel)?.size ?? 0) > 1).length,
        answers,
      };
    },
  };
}

interface Page {
  readonly events: readonly { readonly id: string; readonly channel: string }[];
  readonly next: string | null;
  readonly hasMore: boolean;
}
