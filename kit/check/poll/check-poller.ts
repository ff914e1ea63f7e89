import { randomUUID } from "node:crypto";
import { EVENT_RULES } from "../events/event-rules";
import { createObservedChat } from "../events/observed-chat";
import { OBSERVED_RULE } from "../events/observed-rule";
import { TEXT_RULES } from "../events/text-rules";
import { TYPE_RULES } from "../events/type-rules";
import { createHttpClient, type ClientOptions } from "../http-client";
import { isOk, type CheckResult } from "../result";
import { judgeAll, NO_PROGRESS, type CheckProgress, type Rule } from "../rule";
import { CATCH_UP_RULES } from "./catch-up-rules";
import { startFakeService, type ListenAddress } from "./fake-service";
import { FIRST_POLL_RULES } from "./first-rules";
import { PAGE_RULES } from "./page-rules";
import { createPollTarget, type PollTarget } from "./poll-target";
import { RETRY_RULES } from "./retry-rules";
import { SENT_RULES } from "./sent-rules";
import { TIME_RULES } from "./time-rules";

export type { ShownMessage } from "../events/shown-message";

/** The values with which the bridge must be configured. */
export interface PollerPlace {
  /** Base address of the fake service, such as `http://127.0.0.1:9100`. */
  readonly baseUrl: string;
  /** UUID of the workspace. */
  readonly workspace: string;
}

export interface PollerCheckOptions extends Omit<ClientOptions, "timeoutMs"> {
  /** The bridge's signing secrets, the newest first. */
  readonly secrets: readonly string[];
  /** Address of the fake service; a free port of 127.0.0.1 by default. */
  readonly listen?: ListenAddress;
  /** Called once the fake service listens. The bridge can now be started. */
  readonly onListening?: (place: PollerPlace) => void;
  /** The bridge's observation endpoint, which answers `{"messages": ShownMessage[]}`; undefined if there is none. */
  readonly observe?: URL;
  /** UUID of the workspace; random by default. */
  readonly workspace?: string;
  /** Channel of the messages; `chat-bridge-check` by default. */
  readonly channel?: string;
  /** User who gets ephemerals and DMs; `chat-bridge-check-user` by default. */
  readonly user?: string;
  /** Time limit for showing a message, ms; 10,000 by default. */
  readonly withinMs?: number;
  /** Time limit for the first poll, ms; 120,000 by default. */
  readonly waitMs?: number;
  /** Time limit for each further poll, ms; 30,000 by default. */
  readonly pollWithinMs?: number;
  /** Ids of the rules to check; all rules by default. Gates (`Rule.isGate`) are always checked. */
  readonly only?: readonly string[];
  readonly progress?: CheckProgress;
}

const OBSERVE_TIMEOUT_MS = 5_000;
/**
 * Ids of rules that apply only to pushes. A bridge that polls gets events later, so the bridge may hold updates for
 * longer.
 */
const PUSH_ONLY: ReadonlySet<string> = new Set(["hold-ends"]);
/** Fixes in place of those that name pushes, by the id of the rule. */
const POLL_FIXES: Readonly<Record<string, string>> = {
  repeats: "keep the ids of handled events for 24 hours, and skip an event with a known id",
};

export const POLLER_RULES: readonly Rule<PollTarget>[] = [
  ...FIRST_POLL_RULES,
  ...TIME_RULES,
  OBSERVED_RULE,
  ...PAGE_RULES,
  ...RETRY_RULES,
  ...TYPE_RULES,
  ...TEXT_RULES,
  ...CATCH_UP_RULES,
  ...EVENT_RULES.filter(({ id }) => !PUSH_ONLY.has(id)).map((rule) => ({
    ...rule,
    fix: POLL_FIXES[rule.id] ?? rule.fix,
  })),
  ...SENT_RULES,
];

/** Requirements that the author of a bridge must check separately. */
const BLIND: readonly string[] = [
  "that digests are compared in constant time, and that secrets are kept safe",
  "that the cursor and the map from message.id to the chat's message ids survive a restart of the bridge",
  "how the bridge handles messages that the chat refuses: a refused create must not be passed by the cursor",
  "that an update whose create does not arrive within 5 seconds is ignored (`--url` checks it for pushes)",
];

/**
 * Starts a fake service on a loopback address, answers the polls of a bridge as the service would, and checks the
 * polls. With `observe`, also checks the messages that the chat shows. Rejects when the fake service cannot listen, or
 * when the check itself fails; faults of the bridge are in the result.
 */
export async function checkPoller(options: PollerCheckOptions): Promise<CheckResult> {
  const { observe, secrets, withinMs = 10_000, progress = NO_PROGRESS, only = [], listen = {} } = options;
  const { workspace = randomUUID() } = options;
  const looker =
    observe === undefined
      ? undefined
      : createHttpClient(observe, { ...options, timeoutMs: OBSERVE_TIMEOUT_MS });
  const chat =
    observe === undefined || looker === undefined
      ? undefined
      : createObservedChat({ url: observe, client: looker, secrets, withinMs });
  const { target, server } = createPollTarget({
    workspace,
    channel: options.channel ?? "chat-bridge-check",
    user: options.user ?? "chat-bridge-check-user",
    isPlaceGiven: options.channel !== undefined || options.user !== undefined,
    secrets,
    chat,
    waitMs: options.waitMs ?? 120_000,
    pollWithinMs: options.pollWithinMs ?? 30_000,
    onWait: (what) => progress.waiting(what),
  });
  const service = await startFakeService({ workspace, listen, ...server });
  try {
    const baseUrl = service.url.origin;
    options.onListening?.({ baseUrl, workspace });
    const rules = await judgeAll(POLLER_RULES, target, { only, progress });
    return { mode: "poller", of: baseUrl, ok: isOk(rules), rules, blind: BLIND };
  } finally {
    target.session.close();
    await service.close();
    looker?.close();
  }
}
