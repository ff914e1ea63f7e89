/** What is checked: a bridge that is pushed to, or the service as a bridge sees it. */
export type CheckMode = "bridge" | "service";

interface RuleHead {
  readonly id: string;
  /** The rule in a sentence. */
  readonly says: string;
  /** How long it took to judge. */
  readonly ms: number;
}

/** What came of a rule. */
export type RuleResult = RuleHead &
  (
    | { readonly verdict: "passed"; readonly note?: string }
    /** `found` is what broke it, `mend` what to change. */
    | { readonly verdict: "failed"; readonly found: string; readonly mend: string }
    /** All that was seen of it is right, and `why` says what was not seen. */
    | { readonly verdict: "unseen"; readonly why: string }
    /** It was not judged. */
    | { readonly verdict: "skipped"; readonly why: string }
  );

/** What a check came to. */
export interface CheckResult {
  readonly mode: CheckMode;
  /** The address that was checked. */
  readonly of: string;
  /** No rule was broken. What was not seen does not count. */
  readonly ok: boolean;
  readonly rules: readonly RuleResult[];
  /** Rules that no such check can see, whatever is done. */
  readonly blind: readonly string[];
}
