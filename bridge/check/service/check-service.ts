import { createHttpClient, type ClientOptions } from "../http-client";
import { isOk, type CheckResult } from "../result";
import { judgeAll, NO_PROGRESS, type CheckProgress, type Rule } from "../rule";
import { BODY_RULES, GATE_RULE } from "./inbound-rules";
import { LIMIT_RULES } from "./limit-rules";
import { ORDER_RULES } from "./order-rules";
import { POLL_RULES } from "./poll-rules";
import { createServiceTarget, type ServiceTarget } from "./service-target";

export interface ServiceCheckOptions extends Omit<ClientOptions, "timeoutMs"> {
  /** The service's base address. */
  readonly url: URL;
  /** UUID of the workspace, whose games see what is accepted. */
  readonly workspace: string;
  /** Its signing secrets, the newest first. */
  readonly secrets: readonly string[];
  /** Go over the rate limits too. */
  readonly withLimits?: boolean;
  /** Only these rules, by their ids, beside those that all others need. */
  readonly only?: readonly string[];
  readonly progress?: CheckProgress;
}

const TIMEOUT_MS = 30_000;

export const SERVICE_RULES: readonly Rule<ServiceTarget>[] = [
  GATE_RULE,
  ...ORDER_RULES,
  ...BODY_RULES,
  ...POLL_RULES,
  ...LIMIT_RULES,
];

const BLIND: readonly string[] = [
  "what reaches the games, and that a repeated event reaches them once",
  "pushes: when they come, and how often again (`--url` checks the other side of that)",
  "what takes hours: events held for 24 hours, ids remembered for as long, retired secrets",
];

/**
 * Sends the service what a bridge may send, and what it must not, and judges the answers. Rejects only where
 * the check itself has a fault: what the service does is in the result.
 */
export async function checkService(options: ServiceCheckOptions): Promise<CheckResult> {
  const { url, workspace, secrets, withLimits = false, only = [], progress = NO_PROGRESS } = options;
  const client = createHttpClient(url, { ...options, timeoutMs: TIMEOUT_MS });
  const target = createServiceTarget({ url, client, workspace, secrets, withLimits });
  try {
    const rules = await judgeAll(SERVICE_RULES, target, { only, progress });
    return { mode: "service", of: url.href, ok: isOk(rules), rules, blind: BLIND };
  } finally {
    client.close();
  }
}
