import { CURSOR_FORM } from "../../../contract/forms";
import { Broken } from "../rule";
import { createPageChain } from "./page-chain";
import { errorAnswer, pageAnswer, type PageContent, type PollAnswer, type WritePage } from "./poll-answer";
import { afterOf, type PollRequest } from "./poll-request";

/** Two successive polls: the first got a special answer. */
export interface PolledTwice {
  readonly answered: PollRequest;
  /** Time at which the first poll was answered, on the clock of `performance`, ms. */
  readonly answeredAtMs: number;
  readonly next: PollRequest;
}

/** Times between successive polls, ms. */
export interface PollGaps {
  /** From an answer with `hasMore: true` to the next poll. */
  readonly more: readonly number[];
  /** From a poll that was answered immediately with `hasMore: false` to the next poll. */
  readonly idle: readonly number[];
}

/** The answers of the fake service to the polls of one bridge. */
export interface PollSession {
  readonly gaps: PollGaps;
  /** Number of polls that repeated the `after` of a page that the bridge had already received. */
  readonly repeats: number;
  /** Resolves to the answer to a poll. */
  answer(poll: PollRequest): Promise<PollAnswer>;
  /** Answers with a page, and waits until the bridge polls with its `next`. Throws Broken if the bridge does not. */
  pass(content: PageContent, what: string): Promise<void>;
  /** Answers the next poll with `build(cursor)`, and waits for the poll after it. */
  answerNext(build: (cursor: string) => PollAnswer, what: string, isIdle?: boolean): Promise<PolledTwice>;
  /** Answers the next poll with `answer`. */
  answerOnce(answer: PollAnswer): void;
  /**
   * Sets the cursor at which the first page begins. The bridge must have this cursor, or get the cursor with the next
   * answer.
   */
  begin(cursor: string): void;
  /** Returns a new cursor, which belongs to no page. */
  cursor(): string;
  /** Accepts any `after` from now on, because a rule has already reported a wrong `after`. */
  acceptAnyAfter(): void;
  /** Answers all waiting polls. */
  close(): void;
}

/** Thrown when a poll has another `after` than the contract requires. */
export class WrongAfter extends Broken {}

/**
 * Time for which a poll waits for the page of the next rule, ms. Most rules need less time, so the bridge gets the page
 * without another poll interval.
 */
const HOLD_MS = 1_500;
/** Time within which an answer counts as immediate, ms. */
const IMMEDIATE_MS = 100;
const GAPS_MOST = 50;
/** Number of times that a bridge may poll the same page again, for example because its chat refuses a message. */
const REPEATS_MOST = 20;

interface Special {
  readonly build: (cursor: string) => PollAnswer;
  readonly isIdle: boolean;
  answered(poll: PollRequest, atMs: number): void;
  followed(next: PollRequest): void;
}

interface Passing {
  /** Called when the bridge has polled past the page, with the fault of that poll. */
  passed(wrong: WrongAfter | undefined): void;
  /** Called when the bridge has polled the page too often. */
  stuck(poll: PollRequest): void;
}

export function createPollSession(options: {
  readonly workspace: string;
  readonly secrets: readonly string[];
  readonly write: WritePage;
  /** Time limit for the next poll, ms. */
  readonly pollWithinMs: number;
  /** Returns the events of a page that is sent when no rule has a page to send. */
  readonly filler: () => readonly object[];
}): PollSession {
  const { pollWithinMs, filler } = options;
  const chain = createPageChain();
  const specials: Special[] = [];
  const gaps = { more: [] as number[], idle: [] as number[] };
  /** Functions that are called at the poll after a page, by the `next` of the page. */
  const passing = new Map<string, Passing>();
  /** The page that the bridge got last: its cursor and its `next`. */
  let last = { from: "", to: "" };
  let previous: { readonly kind: keyof PollGaps | "other"; readonly fromMs: number } | undefined;
  let special: Special | undefined;
  let isAnyAccepted = false;
  let isClosed = false;
  let arrivals = 0;
  /** Numbers of polls that repeated an `after`: in the whole check, and of the last page. */
  const repeats = { all: 0, ofLast: 0 };
  const wakers = new Set<() => void>();

  const wake = () => {
    for (const each of wakers) each();
  };
  const woken = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        wakers.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      wakers.add(end);
    });

  /** Notes the arrival of a poll, and returns the cursor from which its page begins. */
  function arrive(poll: PollRequest): string {
    arrivals++;
    if (previous !== undefined && previous.kind !== "other") {
      const list = gaps[previous.kind];
      if (list.length < GAPS_MOST) list.push(poll.atMs - previous.fromMs);
    }
    previous = undefined;
    const followed = special?.followed;
    special = undefined;
    const after = poll.after === "latest" ? "" : (poll.after ?? "");
    if (arrivals === 1 && CURSOR_FORM.test(after)) begin(after);
    const { from, to } = last;
    if (after !== to && after === from) {
      followed?.(poll);
      if (followed !== undefined) return from;
      repeats.all++;
      if (++repeats.ofLast > REPEATS_MOST) passing.get(to)?.stuck(poll);
      return from;
    }
    const isRight = after === to || isAnyAccepted || followed !== undefined;
    const wrong = new WrongAfter(`the next poll had ${afterOf(poll)}, not the page's next, "${to}"`);
    passing.get(to)?.passed(isRight ? undefined : wrong);
    passing.delete(to);
    followed?.(poll);
    return to;
  }

  function begin(cursor: string): void {
    chain.begin(cursor);
    last = { from: cursor, to: cursor };
  }

  async function answer(poll: PollRequest): Promise<PollAnswer> {
    const cursor = arrive(poll);
    const untilMs = poll.atMs + HOLD_MS;
    for (;;) {
      const now = performance.now();
      const next = specials.shift();
      if (next !== undefined) {
        special = next;
        const isCounted = next.isIdle && now - poll.atMs < IMMEDIATE_MS;
        previous = { kind: isCounted ? "idle" : "other", fromMs: poll.atMs };
        next.answered(poll, now);
        return next.build(cursor);
      }
      const page = chain.at(cursor, poll.limit);
      if (page !== undefined) {
        if (last.from !== cursor) {
          chain.remove(last.from);
          repeats.ofLast = 0;
        }
        last = { from: cursor, to: page.next };
        previous = { kind: page.content.hasMore === false ? "other" : "more", fromMs: now };
        return pageAnswer(page.content, page.next, options);
      }
      const isLate = now >= untilMs;
      if (isClosed || (isLate && cursor !== chain.tip)) return errorAnswer(503, "the check sends no page");
      if (isLate) chain.add({ events: filler(), hasMore: false });
      else await woken(untilMs - now);
    }
  }

  /** Without polls, no further rule can be checked. */
  const gone = (what: string) => {
    const words = `after ${what}, the bridge did not poll again within ${pollWithinMs / 1000} seconds`;
    return new Broken(words, undefined, { judgeable: "nothing" });
  };

  /**
   * Calls `onLate` if `promise` is pending for longer than `pollWithinMs`, and rejects with the result of `onLate`.
   */
  async function inTime<T>(promise: Promise<T>, onLate: () => Broken): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(onLate()), pollWithinMs);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }

  return {
    gaps,
    get repeats() {
      return repeats.all;
    },
    answer,
    pass(content, what) {
      const from = chain.tip;
      const { next } = chain.add(content);
      const before = arrivals;
      const isStuck = (words: string) => {
        // The other rules continue with an empty page.
        chain.empty(from);
        passing.delete(next);
        return new Broken(`after ${what}, the bridge polled again and again with ${words}`);
      };
      const done = new Promise<void>((resolve, reject) => {
        passing.set(next, {
          passed(wrong) {
            if (wrong === undefined) resolve();
            else reject(new WrongAfter(`after ${what}, ${wrong.message}`));
          },
          stuck: (poll) => reject(isStuck(`${afterOf(poll)}, not with the page's next, "${next}"`)),
        });
      });
      wake();
      return inTime(done, () => (arrivals > before ? isStuck("the same `after`") : gone(what)));
    },
    answerNext(build, what, isIdle = false) {
      const done = new Promise<PolledTwice>((resolve) => {
        let answered: PollRequest;
        let answeredAtMs: number;
        specials.push({
          build,
          isIdle,
          answered: (poll, atMs) => void ([answered, answeredAtMs] = [poll, atMs]),
          followed: (next) => resolve({ answered, answeredAtMs, next }),
        });
      });
      wake();
      return inTime(done, () => gone(what));
    },
    answerOnce(once) {
      specials.push({
        build: () => once,
        isIdle: false,
        answered: () => undefined,
        followed: () => undefined,
      });
      wake();
    },
    begin,
    cursor: chain.cursor,
    acceptAnyAfter: () => void (isAnyAccepted = true),
    close() {
      isClosed = true;
      wake();
    },
  };
}
