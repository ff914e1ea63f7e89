/** What is checked: a bridge that is pushed to, or the service as a bridge sees it. */
export type CheckMode = "bridge" | "service";

interface RuleHead {
  readonly id: string;
  /** The rule in a sentence. */
  readonly says: string;
  /** How long it took to judge. */
  readonly ms: number;
}

interface Finding {
  readonly found: string;
  readonly cause?: string;
  readonly mend: string;
}

/** What came of a rule. */
export type RuleResult = RuleHead &
  (
    | { readonly verdict: "passed"; readonly note?: string }
    /** `found` is what broke it, `cause` what probably is behind that, `mend` what to change. */
    | (Finding & { readonly verdict: "failed" })
    /** There was no connection, so that nothing was found of it; `mend` is what to check. */
    | (Finding & { readonly verdict: "not reached" })
    /** All that was seen of it is right, and `why` says what was not seen. */
    | { readonly verdict: "unseen"; readonly why: string }
    /** It was not judged. */
    | { readonly verdict: "skipped"; readonly why: string }
  );

/** Whether a check came to nothing against what it checked. */
export function isOk(rules: readonly RuleResult[]): boolean {
  return rules.every(({ verdict }) => verdict !== "failed" && verdict !== "not reached");
}

/** What a check came to. */
export interface CheckResult {
  readonly mode: CheckMode;
  /** The address that was checked. */
  readonly of: string;
  /** Everything was reached, and no rule was broken. What was not seen does not count. */
  readonly ok: boolean;
  readonly rules: readonly RuleResult[];
  /** Rules that no such check can see, whatever is done. */
  readonly blind: readonly string[];
}
