/** The side that is checked: a bridge that receives pushes, a bridge that polls, or the service that a bridge calls. */
export type CheckMode = "bridge" | "poller" | "service";

/** The noun phrase for the side that each mode checks. */
export const MODE_WORDS: Readonly<Record<CheckMode, string>> = {
  bridge: "bridge",
  poller: "bridge that polls",
  service: "service",
};

interface RuleHead {
  readonly id: string;
  /** The rule, as a sentence. */
  readonly says: string;
  /** Time that the check of the rule took, ms. */
  readonly ms: number;
}

interface Finding {
  readonly found: string;
  readonly cause?: string;
  readonly fix: string;
}

/** The outcome of checking a rule. */
export type Verdict =
  | { readonly verdict: "passed"; readonly note?: string }
  /** The rule is broken. `found` is the observation, `cause` is the probable cause, and `fix` says what to change. */
  | (Finding & { readonly verdict: "failed" })
  /** There was no connection, so the rule could not be checked. `fix` says what to check in the setup. */
  | (Finding & { readonly verdict: "not reached" })
  /** The part of the rule that was checked is not broken. `why` names the part that was not checked. */
  | { readonly verdict: "partly checked"; readonly why: string }
  /** The rule was not checked, for the reason `why`. */
  | { readonly verdict: "skipped"; readonly why: string };

export type RuleResult = RuleHead & Verdict;

/** Returns whether no rule is broken, and every address was reached. */
export function isOk(rules: readonly RuleResult[]): boolean {
  return rules.every(({ verdict }) => verdict !== "failed" && verdict !== "not reached");
}

/** The result of a check. */
export interface CheckResult {
  readonly mode: CheckMode;
  /** The address that was checked. */
  readonly of: string;
  /** Whether no rule is broken, and every address was reached. Partly checked and skipped rules do not make `ok` false. */
  readonly ok: boolean;
  readonly rules: readonly RuleResult[];
  /** Requirements that a check from outside cannot verify. */
  readonly blind: readonly string[];
}
