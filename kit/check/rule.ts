import type { NoReply } from "./http-client";
import { MODE_WORDS, type CheckMode, type RuleResult, type Verdict } from "./result";

/** A rule of the contract, with its check. */
export interface Rule<Context> {
  /** Short, stable id for `--only` and for programs that read the output of `--json`. */
  readonly id: string;
  /** The rule, as a sentence. */
  readonly says: string;
  /** The fix for a bridge or a service that breaks the rule. */
  readonly fix: string;
  /**
   * Whether later checks depend on the rule. When such a rule, a gate, throws Broken, `more.judgeable` says which
   * checks can still run.
   */
  readonly isGate?: true;
  /** Checks the rule. Throws Broken when the rule is broken. */
  judge(context: Context): Promise<Judged>;
  /**
   * Checks only the part of the rule about rejecting invalid pushes. Called instead of `judge` if the bridge rejects
   * valid pushes too.
   */
  judgeRefusals?(context: Context): Promise<void>;
}

/**
 * The result for a rule that is not broken. `unchecked` names the part of the rule that was not checked, or says why it
 * was not checked.
 */
export type Judged = { readonly note: string } | { readonly unchecked: string } | undefined;

/** The checks that remain possible after a gate is broken. */
type Judgeable = "all" | "refusals" | "nothing";

/** Details of how a rule is broken. */
export interface BrokenMore {
  /** The probable cause. */
  readonly cause?: string | undefined;
  /** The checks that remain possible. The default is "nothing" for a gate; by default, other rules change nothing. */
  readonly judgeable?: Judgeable;
  /**
   * Whether no connection could be made. If a gate could not connect, it is reported as "not reached", not as "failed".
   */
  readonly isUnreached?: boolean;
}

/** Thrown when a rule is broken. The message says what the check observed. */
export class Broken extends Error {
  override readonly name = "Broken";
  constructor(
    message: string,
    /** A fix that is more precise than the rule's `fix`. */
    readonly fix?: string,
    readonly more: BrokenMore = {},
  ) {
    super(message);
  }
}

/**
 * Returns a `Broken` error for a request without an answer. `option` is the command-line option that gave the address.
 */
export function noReply(what: string, { failed, isUnreached }: NoReply, option: string): Broken {
  const fix = `check that the server is running; check the host and port of ${option}, and any firewall in between`;
  return new Broken(`${what}: ${failed}`, isUnreached ? fix : undefined, { isUnreached });
}

/** Callbacks for the progress of a check. */
export interface CheckProgress {
  begun(id: string, says: string): void;
  /** Called when the check of a rule has to wait for a few seconds. */
  waiting(what: string): void;
  judged(result: RuleResult): void;
}

export const NO_PROGRESS: CheckProgress = {
  begun: () => undefined,
  waiting: () => undefined,
  judged: () => undefined,
};

/** Checks the rules in order. If `only` is not empty, checks only the gates and the rules with these ids. */
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

const NONE_ACCEPTED = "whether valid pushes are accepted: none has been accepted so far";

interface Judgement {
  readonly verdict: Verdict;
  /** The checks that remain possible for later rules. */
  readonly leaves: Judgeable;
}

/** Checks a rule as far as `judgeable` allows. */
async function judgeWhat<Context>(
  judgeable: Judgeable,
  rule: Rule<Context>,
  context: Context,
  broken: string,
): Promise<Judgement> {
  const skipped: Verdict = { verdict: "skipped", why: `${broken} must pass first` };
  if (judgeable === "nothing") return { verdict: skipped, leaves: judgeable };
  try {
    if (judgeable === "all") return { verdict: verdictOf(await rule.judge(context)), leaves: judgeable };
    if (rule.judgeRefusals === undefined) return { verdict: skipped, leaves: judgeable };
    await rule.judgeRefusals(context);
    return { verdict: { verdict: "partly checked", why: NONE_ACCEPTED }, leaves: judgeable };
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    const { message: found, fix = rule.fix, more } = error;
    const isUnreached = rule.isGate === true && more.isUnreached === true;
    const cause = more.cause === undefined ? {} : { cause: more.cause };
    return {
      verdict: { verdict: isUnreached ? "not reached" : "failed", found, fix, ...cause },
      leaves: more.judgeable ?? (rule.isGate === true ? "nothing" : judgeable),
    };
  }
}

function verdictOf(judged: Judged): Verdict {
  if (judged === undefined) return { verdict: "passed" };
  if ("unchecked" in judged) return { verdict: "partly checked", why: judged.unchecked };
  return { verdict: "passed", note: judged.note };
}

/** Returns an error text if `only` contains ids of unknown rules; otherwise undefined. */
export function unknownRules(
  only: readonly string[],
  mode: CheckMode,
  rules: readonly { readonly id: string }[],
): string | undefined {
  const unknown = only.filter((id) => !rules.some((rule) => rule.id === id));
  if (unknown.length === 0) return undefined;
  const known = rules.map(({ id }) => id).join(", ");
  return `--only: unknown rule for a ${MODE_WORDS[mode]}: ${unknown.join(", ")}; the rules are ${known}`;
}
