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
  /** UUID of the workspace. The games receive each event that the check sends and the service accepts. */
  readonly workspace: string;
  /** Signing secrets of the workspace, the newest first. */
  readonly secrets: readonly string[];
  /** Whether to check the rate limits too, by exceeding them. */
  readonly withLimits?: boolean;
  /** Ids of the rules to check. Rules that all other rules need are always checked. */
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
  "that each event reaches the games, and that a repeated event reaches them only once",
  "pushes: their timing and retries (`--url` checks the bridge's side)",
  "rules that take hours: events held for 24 hours, ids remembered for 24 hours, retired secrets",
];

/**
 * Sends valid and invalid requests to the service, as a bridge would, and checks the answers. Rejects only when the
 * check itself fails; faults of the service are in the result.
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
