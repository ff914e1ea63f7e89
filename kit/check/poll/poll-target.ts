import type { EventHead } from "../../events";
import { EventTarget, type EventCheckOptions } from "../events/event-target";
import {
  pageAnswer,
  type ListenAddress,
  type PageContent,
  type PollAnswer,
  type RequestHandler,
  type WritePage,
} from "./fake-service";
import { InboundLog } from "./inbound-log";
import { PollLog, type PollRequest, type SignatureFinding } from "./poll-log";
import { PollSession } from "./poll-session";

/** The values with which the bridge must be configured. */
export interface PollerPlace {
  /** Base address of the fake service, such as `http://127.0.0.1:9100`. */
  readonly baseUrl: string;
  /** UUID of the workspace. */
  readonly workspace: string;
}

export interface PollerCheckOptions extends EventCheckOptions {
  /** Address of the fake service; a free port of 127.0.0.1 by default. */
  readonly listen?: ListenAddress;
  /** Called once the fake service is listening, so the bridge can be started. */
  readonly onListening?: (place: PollerPlace) => void;
  /** Time limit for the first poll, ms; 120,000 by default. */
  readonly waitMs?: number;
  /** Time limit for each further poll, ms; 30,000 by default. */
  readonly pollWithinMs?: number;
}

/** The first request of the bridge: a poll, or a request to any other path or workspace. */
export type FirstRequest =
  | { readonly poll: PollRequest; readonly finding: SignatureFinding | undefined }
  | { readonly elsewhere: string };

const OBSERVE_TIMEOUT_MS = 5_000;

/** The polling bridge that is being checked, with helpers for the rules. Also answers the bridge's requests. */
export class PollTarget extends EventTarget implements RequestHandler {
  /** Time limit for the first poll, ms. */
  readonly waitMs: number;
  readonly session: PollSession;
  readonly log: PollLog;
  readonly inbound: InboundLog;
  /** Serializes all further pages. */
  writeAs: WritePage = JSON.stringify;
  readonly #firstRequest: Promise<FirstRequest | undefined>;
  #onFirst: (request: FirstRequest | undefined) => void = () => undefined;
  #first: Promise<FirstRequest | undefined> | undefined;

  constructor(options: PollerCheckOptions) {
    super(options, OBSERVE_TIMEOUT_MS);
    const { waitMs = 120_000, pollWithinMs = 30_000 } = options;
    this.waitMs = waitMs;
    this.session = new PollSession({
      page: this.page,
      pollWithinMs,
      filler: () => [this.make.ping()],
    });
    this.log = new PollLog(this.secrets);
    this.inbound = new InboundLog(this.secrets);
    this.#firstRequest = new Promise((resolve) => (this.#onFirst = resolve));
  }

  override readonly taken = (event: EventHead, what: string): Promise<void> =>
    this.session.pass({ events: [event] }, what);

  /** Resolves to the first request; undefined if there is none within `waitMs`. */
  readonly first = (): Promise<FirstRequest | undefined> => (this.#first ??= this.#firstInTime());

  /** Returns the answer with a page. */
  readonly page = (content: PageContent, next: string | null): PollAnswer =>
    pageAnswer({ write: this.writeAs, ...content }, next, this);

  /** Returns the answer with an empty page, which means that no event is newer than the cursor `next`. */
  readonly idle = (next: string | null): PollAnswer => this.page({ events: [], hasMore: false }, next);

  onPoll(poll: PollRequest): Promise<PollAnswer> {
    this.#onFirst({ poll, finding: this.log.add(poll) });
    return this.session.answer(poll);
  }

  onPost(body: Buffer, signature: string | undefined): PollAnswer {
    return this.inbound.answer(body, signature);
  }

  onElsewhere(elsewhere: string): void {
    this.#onFirst({ elsewhere });
  }

  override close(): void {
    this.session.close();
    super.close();
  }

  #firstInTime(): Promise<FirstRequest | undefined> {
    this.waiting(`waiting up to ${this.waitMs / 1000} seconds for the bridge's first poll`);
    const timer = setTimeout(() => this.#onFirst(undefined), this.waitMs);
    return this.#firstRequest.finally(() => clearTimeout(timer));
  }
}
