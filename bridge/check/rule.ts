import type { CheckMode, RuleResult } from "./result";

/** A rule of the contract, and how it is judged. */
export interface Rule<Context> {
  /** Short and stable: for `--only`, and for whoever reads the JSON. */
  readonly id: string;
  /** The rule in a sentence. */
  readonly says: string;
  /** What to change where it is broken. */
  readonly mend: string;
  /** Where this one is broken nothing else can be judged. */
  readonly isGate?: true;
  /** Throws Broken where the rule is broken. */
  judge(context: Context): Promise<Judged>;
}

/** How a rule was found to be kept; `unseen` says what of it cannot be seen, and why. */
export type Judged = { readonly note: string } | { readonly unseen: string } | undefined;

/** A rule is broken; the message is what was found. */
export class Broken extends Error {
  override readonly name = "Broken";
  constructor(
    message: string,
    /** What to change, where the rule's own advice is too general. */
    readonly mend?: string,
  ) {
    super(message);
  }
}

/** Told of each rule as it begins, with what it waits for, and as it is judged. */
export interface CheckProgress {
  begun(id: string, says: string): void;
  waiting(what: string): void;
  judged(result: RuleResult): void;
}

export const NO_PROGRESS: CheckProgress = {
  begun: () => undefined,
  waiting: () => undefined,
  judged: () => undefined,
};

/** The rules in turn, only those named where any are; gates are never left out. */
export async function judgeAll<Context>(
  rules: readonly Rule<Context>[],
  context: Context,
  {
    only = [],
    progress = NO_PROGRESS,
  }: { readonly only?: readonly string[]; readonly progress?: CheckProgress },
): Promise<readonly RuleResult[]> {
  const results: RuleResult[] = [];
  let closed: string | undefined;
  for (const rule of rules) {
    if (only.length > 0 && rule.isGate !== true && !only.includes(rule.id)) continue;
    const { id, says } = rule;
    progress.begun(id, says);
    const begun = performance.now();
    const verdict =
      closed === undefined
        ? await judgeOne(rule, context)
        : { verdict: "skipped" as const, why: `${closed} has to hold first` };
    const result = { id, says, ...verdict, ms: Math.round(performance.now() - begun) };
    if (rule.isGate === true && result.verdict === "failed") closed ??= id;
    results.push(result);
    progress.judged(result);
  }
  return results;
}

type Verdict = RuleResult extends infer Each
  ? Each extends RuleResult
    ? Omit<Each, keyof Head>
    : never
  : never;
type Head = Pick<RuleResult, "id" | "says" | "ms">;

async function judgeOne<Context>(rule: Rule<Context>, context: Context): Promise<Verdict> {
  try {
    const judged = await rule.judge(context);
    if (judged === undefined) return { verdict: "passed" };
    if ("unseen" in judged) return { verdict: "unseen", why: judged.unseen };
    return { verdict: "passed", note: judged.note };
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return { verdict: "failed", found: error.message, mend: error.mend ?? rule.mend };
  }
}

/** The rules' ids that are asked for and are none. */
export function unknownRules(
  only: readonly string[],
  mode: CheckMode,
  rules: readonly { readonly id: string }[],
): string | undefined {
  const unknown = only.filter((id) => !rules.some((rule) => rule.id === id));
  if (unknown.length === 0) return undefined;
  const known = rules.map(({ id }) => id).join(", ");
  return `--only: ${unknown.join(", ")} is no rule for a ${mode}; there are ${known}`;
}
