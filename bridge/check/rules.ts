import { BRIDGE_RULES } from "./push/check-bridge";
import type { CheckMode } from "./result";
import { SERVICE_RULES } from "./service/check-service";

/** All rules of both sides, in the order of their checks. */
export const RULES: Readonly<Record<CheckMode, readonly { readonly id: string; readonly says: string }[]>> = {
  bridge: BRIDGE_RULES,
  service: SERVICE_RULES,
};
