import { randomUUID } from "node:crypto";
import { createHttpClient, type ClientOptions } from "../http-client";
import { isOk, type CheckResult } from "../result";
import { judgeAll, NO_PROGRESS, type CheckProgress, type Rule } from "../rule";
import { ANSWER_RULES, BURST_RULE, FIRST_RULES } from "./answer-rules";
import { EVENT_RULES } from "./event-rules";
import { createObservedChat } from "./observed-chat";
import { createPushTarget, type PushTarget } from "./push-target";
import { SIGNATURE_RULES } from "./signature-rules";

export type { ShownMessage } from "./shown-message";

export interface BridgeCheckOptions extends Omit<ClientOptions, "timeoutMs"> {
  /** The bridge's target URL. */
  readonly url: URL;
  /** The bridge's signing secrets, the newest first. */
  readonly secrets: readonly string[];
  /** The bridge's observation endpoint, if it has one: it answers `{"messages": ShownMessage[]}`. */
  readonly observe?: URL;
  /** UUID of the workspace that the events are of; a made-up one by default. */
  readonly workspace?: string;
  /** Where messages are posted, and to whom. */
  readonly channel?: string;
  readonly user?: string;
  /** How long a push may take to be answered, 5 seconds by default. */
  readonly answerWithinMs?: number;
  /** How long what is shown may take to appear, 10 seconds by default. */
  readonly withinMs?: number;
  /** Only these rules, by their ids, beside those that all others need. */
  readonly only?: readonly string[];
  readonly progress?: CheckProgress;
}

/** The service waits no longer for an answer. */
const DELIVERY_DEADLINE_MS = 5_000;

export const BRIDGE_RULES: readonly Rule<PushTarget>[] = [
  ...FIRST_RULES,
  ...SIGNATURE_RULES,
  ...ANSWER_RULES,
  ...EVENT_RULES,
  BURST_RULE,
];

/** What remains between the author and the bridge. */
const BLIND: readonly string[] = [
  "that digests are compared in constant time, and that secrets are kept safe",
  "that the map from message.id to the chat's own ids outlives a restart of the bridge",
  "what it does when the chat refuses a message",
  "how it polls: cursors, pages, gaps (`--service` checks the other side of that)",
  "what it sends to the service: commands, presses and typed messages",
];

/**
 * Does to a bridge what the service may do, and judges what it answers, and what it shows where that can be
 * observed. Rejects only where the check itself has a fault: what the bridge does is in the result.
 */
export async function checkBridge(options: BridgeCheckOptions): Promise<CheckResult> {
  const { url, observe, secrets, withinMs = 10_000, progress = NO_PROGRESS, only = [] } = options;
  const clientOptions = { ...options, timeoutMs: options.answerWithinMs ?? DELIVERY_DEADLINE_MS };
  const client = createHttpClient(url, clientOptions);
  const looker = observe === undefined ? undefined : createHttpClient(observe, clientOptions);
  const chat =
    observe === undefined || looker === undefined
      ? undefined
      : createObservedChat({ url: observe, client: looker, secrets, withinMs });
  const target = createPushTarget({
    url,
    client,
    secrets,
    chat,
    workspace: options.workspace ?? randomUUID(),
    isWorkspaceGiven: options.workspace !== undefined,
    channel: options.channel ?? "chat-bridge-check",
    user: options.user ?? "chat-bridge-check-user",
    onWait: (what) => progress.waiting(what),
  });
  try {
    const rules = await judgeAll(BRIDGE_RULES, target, { only, progress });
    return { mode: "bridge", of: url.href, ok: isOk(rules), rules, blind: BLIND };
  } finally {
    client.close();
    looker?.close();
  }
}
