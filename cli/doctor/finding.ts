/** The result of a check. A check that cannot run is skipped. */
export type Result = "ok" | "warn" | "fail" | "skipped";

/** A check's result and its explanation, which are one line of output. */
export interface Finding {
  /** The name of the check, e.g. "redis-memory". */
  readonly check: string;
  readonly result: Result;
  /** The facts that the check found, or why the check is skipped. */
  readonly says: string;
  /** Advice on what to do; undefined unless the result is "warn" or "fail". */
  readonly fix?: string;
  /** The documentation page and heading that explain the fault; undefined unless the result is "warn" or "fail". */
  readonly page?: string;
}

/** What to do about a fault, and the page that explains it. */
export interface Advice {
  readonly fix: string;
  readonly page: string;
}

export function ok(check: string, says: string): Finding {
  return { check, result: "ok", says };
}

export function skipped(check: string, why: string): Finding {
  return { check, result: "skipped", says: why };
}

export function warn(check: string, says: string, advice: Advice): Finding {
  return { check, result: "warn", says, ...advice };
}

export function fail(check: string, says: string, advice: Advice): Finding {
  return { check, result: "fail", says, ...advice };
}

/**
 * The thresholds of a measured value. The check fails if the value is at least `fail`, and warns if it is at least
 * `warn`.
 */
export interface Thresholds {
  readonly warn: number;
  readonly fail: number;
}

/** Returns the result for a value that is worse if it is larger. */
export function levelOf(
  value: number,
  { warn: warnFrom, fail: failFrom }: Thresholds,
): "ok" | "warn" | "fail" {
  if (value >= failFrom) return "fail";
  return value >= warnFrom ? "warn" : "ok";
}

/** Returns a finding with one of the three results. The advice is ignored if the result is "ok". */
export function judged(check: string, result: "ok" | "warn" | "fail", says: string, advice: Advice): Finding {
  return result === "ok" ? ok(check, says) : { check, result, says, ...advice };
}

const SEVERITY: readonly Result[] = ["ok", "skipped", "warn", "fail"];

/** Returns the most severe of several findings of one check. Throws when there are none. */
export function worstOf(findings: readonly Finding[]): Finding {
  const rank = ({ result }: Finding): number => SEVERITY.indexOf(result);
  return findings.reduce((worst, each) => (rank(each) > rank(worst) ? each : worst));
}

/** Returns e.g. "1 core" and "2 cores". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
