import { POLLER_RULES } from "./poll/check-poller";
import { BRIDGE_RULES } from "./push/check-bridge";
import type { CheckMode } from "./result";
import { SERVICE_RULES } from "./service/check-service";

/** The rules for bridges and for the service, in the order in which the checker checks them. */
export const RULES: Readonly<Record<CheckMode, readonly { readonly id: string; readonly says: string }[]>> = {
  bridge: BRIDGE_RULES,
  poller: POLLER_RULES,
  service: SERVICE_RULES,
};
