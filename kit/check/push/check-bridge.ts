import { PUSH_DEADLINE_MS } from "../../../contract/numbers";
import { randomUUID } from "node:crypto";
import { createHttpClient, type ClientOptions } from "../http-client";
import { isOk, type CheckResult } from "../result";
import { judgeAll, NO_PROGRESS, type CheckProgress, type Rule } from "../rule";
import { BURST_RULE, FIRST_RULES } from "./answer-rules";
import { EVENT_RULES } from "../events/event-rules";
import { createObservedChat } from "../events/observed-chat";
import { TEXT_RULES } from "../events/text-rules";
import { TYPE_RULES } from "../events/type-rules";
import { createPushTarget, type PushTarget } from "./push-target";
import { SIGNATURE_RULES } from "./signature-rules";

export type { ShownMessage } from "../events/shown-message";

export interface BridgeCheckOptions extends Omit<ClientOptions, "timeoutMs"> {
  /** The bridge's target URL. */
  readonly url: URL;
  /** The bridge's signing secrets, the newest first. */
  readonly secrets: readonly string[];
  /** The bridge's observation endpoint, which answers `{"messages": ShownMessage[]}`; undefined if there is none. */
  readonly observe?: URL;
  /** UUID of the workspace of the events; random by default. */
  readonly workspace?: string;
  /** Channel of the messages; `chat-bridge-check` by default. */
  readonly channel?: string;
  /** User who gets ephemerals and DMs; `chat-bridge-check-user` by default. */
  readonly user?: string;
  /** Time limit for answering a push, ms; 5000 by default. */
  readonly answerWithinMs?: number;
  /** Time limit for showing a message, ms; 10,000 by default. */
  readonly withinMs?: number;
  /** Ids of the rules to check; all rules by default. Gates (`Rule.isGate`) are always checked. */
  readonly only?: readonly string[];
  readonly progress?: CheckProgress;
}

export const BRIDGE_RULES: readonly Rule<PushTarget>[] = [
  ...FIRST_RULES,
  ...SIGNATURE_RULES,
  ...TYPE_RULES,
  ...TEXT_RULES,
  ...EVENT_RULES,
  BURST_RULE,
];

/** Requirements that the author of a bridge must check separately. */
const BLIND: readonly string[] = [
  "that digests are compared in constant time, and that secrets are kept safe",
  "that the map from message.id to the chat's message ids survives a restart of the bridge",
  "whether an accepted push survives a crash of the bridge: store the event on the disk before you answer",
  "how the bridge handles messages that the chat refuses",
  "how the bridge polls: cursors, pages, gaps (`--poll` checks them)",
  "the events that the bridge sends to the service: commands, button presses and typed messages",
];

/**
 * Pushes events to a bridge, as the service would, and checks the answers. With `observe`, also checks the messages
 * that the chat shows. Rejects only when the check itself fails; faults of the bridge are in the result.
 */
export async function checkBridge(options: BridgeCheckOptions): Promise<CheckResult> {
  const { url, observe, secrets, withinMs = 10_000, progress = NO_PROGRESS, only = [] } = options;
  const clientOptions = { ...options, timeoutMs: options.answerWithinMs ?? PUSH_DEADLINE_MS };
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
    isPlaceGiven: options.channel !== undefined || options.user !== undefined,
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
