import type { NoReply } from "./http-client";
import type { CheckMode, RuleResult } from "./result";

/** A rule of the contract, and how it is judged. */
export interface Rule<Context> {
  /** Short and stable: for `--only`, and for whoever reads the JSON. */
  readonly id: string;
  /** The rule in a sentence. */
  readonly says: string;
  /** What to change where it is broken. */
  readonly mend: string;
  /** Where this one is broken, only what its Broken says can still be judged. */
  readonly isGate?: true;
  /** Throws Broken where the rule is broken. */
  judge(context: Context): Promise<Judged>;
  /** The part of the rule that is about refusals alone, which can be judged of a bridge that takes nothing. */
  judgeRefusals?(context: Context): Promise<void>;
}

/** How a rule was found to be kept; `unseen` says what of it cannot be seen, and why. */
export type Judged = { readonly note: string } | { readonly unseen: string } | undefined;

/** What can still be judged after a gate is broken. */
type Judgeable = "all" | "refusals" | "nothing";

/** What more is known of how a rule is broken. */
export interface BrokenMore {
  /** What probably is behind it. */
  readonly cause?: string | undefined;
  /** Of a gate; by default nothing. */
  readonly judgeable?: Judgeable;
  /** There was no connection, so that a gate is neither kept nor broken. */
  readonly isUnreached?: boolean;
}

/** A rule is broken; the message is what was found. */
export class Broken extends Error {
  override readonly name = "Broken";
  constructor(
    message: string,
    /** What to change, where the rule's own advice is too general. */
    readonly mend?: string,
    readonly more: BrokenMore = {},
  ) {
    super(message);
  }
}

/** A request got no answer; `option` is the one that gives its address. */
export function noReply(what: string, { failed, isUnreached }: NoReply, option: string): Broken {
  const mend = `see that it runs, and check the host and the port of ${option}, and any firewall in between`;
  return new Broken(`${what}: ${failed}`, isUnreached ? mend : undefined, { isUnreached });
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
  let judgeable: Judgeable = "all";
  let broken = "";
  for (const rule of rules) {
    if (only.length > 0 && rule.isGate !== true && !only.includes(rule.id)) continue;
    const { id, says } = rule;
    progress.begun(id, says);
    const begun = performance.now();
    const { verdict, leaves }: Judgement = await judgeWhat(judgeable, rule, context, broken);
    if (leaves !== judgeable) [judgeable, broken] = [leaves, id];
    const result = { id, says, ...verdict, ms: Math.round(performance.now() - begun) };
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

interface Judgement {
  readonly verdict: Verdict;
  /** What can still be judged of the rules after it. */
  readonly leaves: Judgeable;
}

/** Judges as much of a rule as can be. */
async function judgeWhat<Context>(
  judgeable: Judgeable,
  rule: Rule<Context>,
  context: Context,
  broken: string,
): Promise<Judgement> {
  const skipped = { verdict: "skipped" as const, why: `${broken} has to hold first` };
  if (judgeable === "nothing") return { verdict: skipped, leaves: judgeable };
  try {
    if (judgeable === "all") return { verdict: verdictOf(await rule.judge(context)), leaves: judgeable };
    if (rule.judgeRefusals === undefined) return { verdict: skipped, leaves: judgeable };
    await rule.judgeRefusals(context);
    return {
      verdict: { verdict: "unseen", why: "whether right pushes are taken: none was so far" },
      leaves: judgeable,
    };
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    const { message: found, mend = rule.mend, more } = error;
    const isUnreached = rule.isGate === true && more.isUnreached === true;
    const cause = more.cause === undefined ? {} : { cause: more.cause };
    return {
      verdict: { verdict: isUnreached ? "not reached" : "failed", found, mend, ...cause },
      leaves: rule.isGate === true ? (more.judgeable ?? "nothing") : judgeable,
    };
  }
}

function verdictOf(judged: Judged): Verdict {
  if (judged === undefined) return { verdict: "passed" };
  if ("unseen" in judged) return { verdict: "unseen", why: judged.unseen };
  return { verdict: "passed", note: judged.note };
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
