import { isOk, type CheckResult } from "../result";
import { judgeAll, type Rule } from "../rule";
import { BODY_RULES, GATE_RULE } from "./inbound-rules";
import { LIMIT_RULES } from "./limit-rules";
import { ORDER_RULES } from "./order-rules";
import { POLL_RULES } from "./poll-rules";
import { ServiceTarget, type ServiceCheckOptions } from "./service-target";

export type { ServiceCheckOptions } from "./service-target";

export const SERVICE_RULES: readonly Rule<ServiceTarget>[] = [
  GATE_RULE,
  ...ORDER_RULES,
  ...BODY_RULES,
  ...POLL_RULES,
  ...LIMIT_RULES,
];

const BLIND: readonly string[] = [
  "that each event reaches the games, and that a repeated event reaches them only once",
  "pushes: their timing and retries (`--url` checks the bridge's side)",
  "rules that take hours: events held for 24 hours, ids remembered for 24 hours, retired secrets",
];

/**
 * Sends valid and invalid requests to the service, as a bridge would, and checks the answers. Rejects only when the
 * check itself fails; faults of the service are in the result.
 */
export async function checkService(options: ServiceCheckOptions): Promise<CheckResult> {
  const target = new ServiceTarget(options);
  try {
    const rules = await judgeAll(SERVICE_RULES, target, options);
    return { mode: "service", of: options.url.href, ok: isOk(rules), rules, blind: BLIND };
  } finally {
    target.close();
  }
}
