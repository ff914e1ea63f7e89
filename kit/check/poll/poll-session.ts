import { CURSOR_FORM } from "../../../contract/forms";
import { Broken } from "../rule";
import { Changes } from "./changes";
import { errorAnswer, type PageContent, type PollAnswer } from "./fake-service";
import { PageChain } from "./page-chain";
import { afterOf, type PollRequest } from "./poll-log";

/** Two successive polls, the first of which got a special answer. */
export interface PolledTwice {
  readonly answered: PollRequest;
  /** Time at which the first poll was answered, on the clock of `performance`, ms. */
  readonly answeredAtMs: number;
  readonly next: PollRequest;
}

/** Thrown when the `after` of a poll is not the one that the contract requires. */
export class WrongAfter extends Broken {}

export interface PollSessionOptions {
  /** Returns the answer with a page. */
  readonly page: (content: PageContent, next: string | null) => PollAnswer;
  /** Time limit for the next poll, ms. */
  readonly pollWithinMs: number;
  /** Returns the events for a page that the session sends while no rule has a page to send. */
  readonly filler: () => readonly object[];
}

/**
 * Milliseconds for which a poll waits for the next rule's page. Most rules send their page within this time, so the
 * page need not wait for the bridge's next poll.
 */
const HOLD_MS = 1_500;
/** Milliseconds within which an answer counts as immediate. */
const IMMEDIATE_MS = 100;
const GAPS_MOST = 50;
/** Number of times that a bridge may poll the same page again, for example because its chat refuses a message. */
const REPEATS_MOST = 20;

/** A page that a rule sends. */
interface SentPage {
  /** The cursor at which the page begins. */
  readonly from: string;
  /**
   *     pending ──a poll with the page's next──▶ passed
   *        ├──a poll with another cursor──▶ wrong
   *        └──too many polls of the page──▶ stuck
   */
  state:
    | { readonly is: "pending" | "passed" }
    | { readonly is: "wrong" | "stuck"; readonly poll: PollRequest };
}

/** An answer that a rule gives in place of a page. */
interface SpecialAnswer {
  readonly build: (cursor: string) => PollAnswer;
  readonly isIdle: boolean;
  /** Undefined until the bridge has received the answer and has polled again. */
  polled?: PolledTwice;
}

/** The answers of the fake service to the polls of one bridge. */
export class PollSession {
  /**
   * Times between successive polls, ms. `more`: from an answer with `hasMore: true` to the next poll. `idle`: from a
   * poll that was answered immediately with `hasMore: false` to the next poll.
   */
  readonly gaps = { more: [] as number[], idle: [] as number[] };
  readonly #options: PollSessionOptions;
  readonly #chain = new PageChain();
  /** The pages that rules have sent and that are not yet judged, by the page's `next`. */
  readonly #sent = new Map<string, SentPage>();
  readonly #specials: SpecialAnswer[] = [];
  /** Notified when a poll arrives, or when a rule adds something to send. */
  readonly #changes = new Changes();
  /** Number of polls that repeated an earlier poll's `after`: in the whole check, and since the last new page. */
  readonly #repeats = { all: 0, ofLast: 0 };
  /** The page that the bridge received last: the cursor at which it begins, and its `next`. */
  #last = { from: "", to: "" };
  /**
   * The special answer that was sent last, until the bridge polls again. Until then, a concurrent poll may get a page.
   */
  #special: { readonly answer: SpecialAnswer; readonly first: Omit<PolledTwice, "next"> } | undefined;
  /**
   * The interval that ends with the next poll: the list to which its length is added, and the time at which it began.
   */
  #gap: { readonly gaps: number[]; readonly fromMs: number } | undefined;
  #arrivals = 0;
  #isAnyAccepted = false;
  #isClosed = false;

  constructor(options: PollSessionOptions) {
    this.#options = options;
  }

  /** Number of polls that repeated the `after` of a page that the bridge had already received. */
  get repeats(): number {
    return this.#repeats.all;
  }

  /** Resolves to the answer to a poll. */
  async answer(poll: PollRequest): Promise<PollAnswer> {
    const cursor = this.#arrive(poll);
    this.#changes.notify();
    const untilMs = poll.atMs + HOLD_MS;
    for (;;) {
      const now = performance.now();
      const special = this.#specials.shift();
      if (special !== undefined) {
        const isIdle = special.isIdle && now - poll.atMs < IMMEDIATE_MS;
        this.#special = { answer: special, first: { answered: poll, answeredAtMs: now } };
        this.#gap = isIdle ? { gaps: this.gaps.idle, fromMs: poll.atMs } : undefined;
        return special.build(cursor);
      }
      const page = this.#chain.at(cursor, poll.limit);
      if (page !== undefined && this.#chain.mayReread(cursor)) {
        return this.#options.page({ ...page.content, hasMore: true }, page.next);
      }
      if (page !== undefined) {
        if (this.#last.from !== cursor) {
          this.#chain.pass(this.#last.from);
          this.#repeats.ofLast = 0;
        }
        this.#last = { from: cursor, to: page.next };
        this.#gap = page.content.hasMore === false ? undefined : { gaps: this.gaps.more, fromMs: now };
        return this.#options.page(page.content, page.next);
      }
      const isLate = now >= untilMs;
      if (this.#isClosed || (isLate && cursor !== this.#chain.tip)) {
        return errorAnswer(503, "the check sends no page");
      }
      if (isLate) this.#chain.add({ events: this.#options.filler(), hasMore: false });
      else await this.#changes.next(untilMs - now);
    }
  }

  /**
   * Answers with a page, and waits until the bridge polls with the page's `next`. Throws Broken if the bridge does not
   * poll with it in time.
   */
  async pass(content: PageContent, what: string): Promise<void> {
    const from = this.#chain.tip;
    const { next } = this.#chain.add(content);
    const sent: SentPage = { from, state: { is: "pending" } };
    this.#sent.set(next, sent);
    const before = this.#arrivals;
    this.#changes.notify();
    await this.#changes.until(() => sent.state.is !== "pending", this.#options.pollWithinMs);
    this.#sent.delete(next);
    const { state } = sent;
    const again = `after ${what}, the bridge polled again and again with`;
    switch (state.is) {
      case "passed":
        return;
      case "wrong":
        throw new WrongAfter(
          `after ${what}, the next poll had ${afterOf(state.poll)}, not the page's next, "${next}"`,
        );
      case "stuck":
        throw new Broken(`${again} ${afterOf(state.poll)}, not with the page's next, "${next}"`);
      case "pending":
        if (this.#arrivals === before) throw this.#gone(what);
        this.#chain.empty(from);
        throw new Broken(`${again} the same \`after\``);
    }
  }

  /** Answers the next poll with `build(cursor)`, and waits for the poll after it. */
  async answerNext(
    build: (cursor: string) => PollAnswer,
    what: string,
    isIdle = false,
  ): Promise<PolledTwice> {
    const special = this.#addSpecial(build, isIdle);
    await this.#changes.until(() => special.polled !== undefined, this.#options.pollWithinMs);
    if (special.polled === undefined) throw this.#gone(what);
    return special.polled;
  }

  /** Answers the next poll with `answer`. */
  answerOnce(answer: PollAnswer): void {
    this.#addSpecial(() => answer, false);
  }

  /**
   * Sets the cursor at which the first page begins. The bridge must already have received this cursor, or receive it
   * with the next answer.
   */
  begin(cursor: string): void {
    this.#chain.begin(cursor);
    this.#last = { from: cursor, to: cursor };
  }

  /** Returns a new cursor, which belongs to no page. */
  cursor(): string {
    return this.#chain.cursor();
  }

  /** Accepts any `after` from now on, because a rule has already reported a wrong `after`. */
  acceptAnyAfter(): void {
    this.#isAnyAccepted = true;
  }

  /** Answers all waiting polls. */
  close(): void {
    this.#isClosed = true;
    this.#changes.notify();
  }

  /** Notes the arrival of a poll, and returns the cursor from which its page begins. */
  #arrive(poll: PollRequest): string {
    this.#arrivals++;
    const isFollowing = this.#judgeLastAnswer(poll);
    const after = poll.after === "latest" ? "" : (poll.after ?? "");
    if (this.#arrivals === 1 && CURSOR_FORM.test(after)) this.begin(after);
    const { from, to } = this.#last;
    const sent = this.#sent.get(to);
    if (after !== to && after === from) {
      if (isFollowing) return from;
      this.#repeats.all++;
      if (++this.#repeats.ofLast > REPEATS_MOST && sent?.state.is === "pending") {
        sent.state = { is: "stuck", poll };
        // The page becomes empty, so that the bridge can pass it and the other rules can be checked.
        this.#chain.empty(sent.from);
      }
      return from;
    }
    // The chat has not yet shown an event of an earlier page. A bridge that also reads ahead polls with `to` again
    // later.
    if (after !== to && !isFollowing && this.#chain.mayReread(after)) {
      this.#repeats.all++;
      if (++this.#repeats.ofLast <= REPEATS_MOST) return after;
    }
    const isRight = after === to || this.#isAnyAccepted || isFollowing;
    if (sent?.state.is === "pending") sent.state = isRight ? { is: "passed" } : { is: "wrong", poll };
    return to;
  }

  /** Records the time since the last answer. Returns whether the poll follows a special answer. */
  #judgeLastAnswer(poll: PollRequest): boolean {
    if (this.#gap !== undefined && this.#gap.gaps.length < GAPS_MOST) {
      this.#gap.gaps.push(poll.atMs - this.#gap.fromMs);
    }
    this.#gap = undefined;
    const special = this.#special;
    this.#special = undefined;
    if (special !== undefined) special.answer.polled = { ...special.first, next: poll };
    return special !== undefined;
  }

  #addSpecial(build: SpecialAnswer["build"], isIdle: boolean): SpecialAnswer {
    const special: SpecialAnswer = { build, isIdle };
    this.#specials.push(special);
    this.#changes.notify();
    return special;
  }

  /** Returns the error for a bridge that no longer polls. After this error, no further rule can be checked. */
  #gone(what: string): Broken {
    const seconds = this.#options.pollWithinMs / 1000;
    const words = `after ${what}, the bridge did not poll again within ${seconds} seconds`;
    return new Broken(words, undefined, { judgeable: "nothing" });
  }
}
