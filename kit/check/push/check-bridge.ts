import { EVENT_RULES, TYPE_RULES } from "../events/event-rules";
import { TEXT_RULES } from "../events/text-rules";
import { isOk, type CheckResult } from "../result";
import { judgeAll, type Rule } from "../rule";
import { BURST_RULE, FIRST_RULES } from "./answer-rules";
import { PushTarget, type BridgeCheckOptions } from "./push-target";
import { SIGNATURE_RULES } from "./signature-rules";

export type { ShownMessage } from "../events/shown-message";
export type { BridgeCheckOptions } from "./push-target";

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
  const target = new PushTarget(options);
  try {
    const rules = await judgeAll(BRIDGE_RULES, target, options);
    return { mode: "bridge", of: options.url.href, ok: isOk(rules), rules, blind: BLIND };
  } finally {
    target.close();
  }
}
