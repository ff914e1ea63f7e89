import { pageAnswer, type PageContent, type PollAnswer, type WritePage } from "./poll-answer";
import { createEventMaker } from "../events/event-maker";
import { createEventTarget, type EventTarget } from "../events/event-target";
import type { ObservedChat } from "../events/observed-chat";
import { createInboundLog, type InboundLog } from "./inbound-log";
import { createPollLog, type PollLog } from "./poll-log";
import type { PollRequest } from "./poll-request";
import { createPollSession, type PollSession } from "./poll-session";
import type { SignatureFinding } from "./poll-signature";

/** The first request of the bridge: a poll, or a request with another path or workspace. */
export type FirstRequest =
  | { readonly poll: PollRequest; readonly finding: SignatureFinding | undefined }
  | { readonly elsewhere: string };

/** A bridge that polls and is being checked, with helpers for the rules. */
export interface PollTarget extends EventTarget {
  readonly workspace: string;
  readonly secrets: readonly string[];
  /** Time limit for the first poll, ms. */
  readonly waitMs: number;
  readonly session: PollSession;
  readonly log: PollLog;
  readonly inbound: InboundLog;
  /** Resolves to the first request; undefined if there is none within `waitMs`. */
  first(): Promise<FirstRequest | undefined>;
  /** Sets the function that serializes all further pages. */
  writeAs(write: WritePage): void;
  /** Returns the answer with a page. */
  page(content: PageContent, next: string | null): PollAnswer;
  /** Returns the answer with an empty page, when no event is newer than the cursor `next`. */
  idle(next: string | null): PollAnswer;
}

/** The functions that answer the bridge's requests. */
export interface PollTargetServer {
  onPoll(poll: PollRequest): Promise<PollAnswer>;
  onPost(body: Buffer, signature: string | undefined): PollAnswer;
  onElsewhere(request: string): void;
}

export function createPollTarget(options: {
  readonly workspace: string;
  readonly channel: string;
  readonly user: string;
  readonly isPlaceGiven: boolean;
  readonly secrets: readonly string[];
  readonly chat: ObservedChat | undefined;
  readonly waitMs: number;
  readonly pollWithinMs: number;
  readonly onWait: (what: string) => void;
}): { readonly target: PollTarget; readonly server: PollTargetServer } {
  const { workspace, secrets, waitMs, onWait } = options;
  let write: WritePage = JSON.stringify;
  const make = createEventMaker(options);
  const session = createPollSession({
    ...options,
    filler: () => [make.ping()],
    write: (content) => write(content),
  });
  const log = createPollLog(secrets);
  const inbound = createInboundLog(secrets);
  let first: Promise<FirstRequest | undefined> | undefined;
  let onFirst: (request: FirstRequest) => void = () => undefined;
  const firstRequest = new Promise<FirstRequest>((resolve) => (onFirst = resolve));

  const taken: EventTarget["taken"] = (event, what) => session.pass({ events: [event] }, what);
  const events = createEventTarget({ ...options, make, taken });

  const page = (content: PageContent, next: string | null) =>
    pageAnswer(content, next, { workspace, secrets, write });

  function firstWithin(ms: number): Promise<FirstRequest | undefined> {
    onWait(`waiting up to ${ms / 1000} seconds for the bridge's first poll`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ms);
    });
    return Promise.race([firstRequest, late]).finally(() => clearTimeout(timer));
  }

  const target: PollTarget = {
    ...events,
    get chat() {
      return events.chat;
    },
    workspace,
    secrets,
    waitMs,
    session,
    log,
    inbound,
    writeAs: (as) => void (write = as),
    first: () => (first ??= firstWithin(waitMs)),
    page,
    idle: (next) => page({ events: [], hasMore: false }, next),
  };
  return {
    target,
    server: {
      onPoll(poll) {
        const finding = log.add(poll);
        onFirst({ poll, finding });
        return session.answer(poll);
      },
      onPost: (body, signature) => inbound.answer(body, signature),
      onElsewhere: (elsewhere) => onFirst({ elsewhere }),
    },
  };
}
