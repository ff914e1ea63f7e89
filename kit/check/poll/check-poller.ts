import { EVENT_RULES, OBSERVED_RULE, TYPE_RULES } from "../events/event-rules";
import { TEXT_RULES } from "../events/text-rules";
import { isOk, type CheckResult } from "../result";
import { judgeAll, type Rule } from "../rule";
import { startFakeService } from "./fake-service";
import { CATCH_UP_RULES, PAGE_RULES } from "./page-rules";
import { PollTarget, type PollerCheckOptions } from "./poll-target";
import { FIRST_POLL_RULES, RETRY_RULES, TIME_RULES } from "./polling-rules";
import { SENT_RULES } from "./sent-rules";

export type { ShownMessage } from "../events/shown-message";
export type { PollerCheckOptions, PollerPlace } from "./poll-target";

/**
 * Ids of rules that apply only to pushes. A bridge that polls gets events later than by push, so it may hold updates
 * for longer.
 */
const PUSH_ONLY: ReadonlySet<string> = new Set(["hold-ends"]);
/** Fixes for bridges that poll, by rule id. They replace the fixes that mention pushes. */
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
  "that a refused message, or a slow call to the chat, delays no other channel (bridge guide, When a channel waits)",
  "that an update whose create does not arrive within 5 seconds is ignored (`--url` checks it for pushes)",
];

/**
 * Starts a fake service on a loopback address, answers the polls of a bridge as the service would, and checks the
 * polls. With `observe`, also checks the messages that the chat shows. Rejects when the fake service cannot listen, or
 * when the check itself fails; the result lists the bridge's faults.
 */
export async function checkPoller(options: PollerCheckOptions): Promise<CheckResult> {
  const target = new PollTarget(options);
  const service = await startFakeService(target, options.listen);
  try {
    const baseUrl = service.url.origin;
    options.onListening?.({ baseUrl, workspace: target.workspace });
    const rules = await judgeAll(POLLER_RULES, target, options);
    return { mode: "poller", of: baseUrl, ok: isOk(rules), rules, blind: BLIND };
  } finally {
    target.close();
    await service.close();
  }
}
