import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../cli/doctor/finding";
import { EXIT } from "../../cli/exit-code";
import { runCli } from "./cli";
import { ROOT } from "./compose-file";

const token = (): string => randomBytes(32).toString("hex");

/** Tokens that are not easy to guess. */
export const STRONG_TOKENS = { edge: token(), game: token(), operator: token() } as const;

/** Settings of a core in which the doctor finds no fault. Core never sends an email to the mail server. */
export const HEALTHY_CORE = {
  CORE_TOKENS: Object.entries(STRONG_TOKENS)
    .map(([role, value]) => `${role}=${value}`)
    .join(),
  SMTP_URL: "smtp://127.0.0.1:9",
  MAIL_FROM: "bridges@example.com",
};
/** Settings of a Redis in which the doctor finds no fault, in addition to those of `startTestRedis`. */
export const HEALTHY_REDIS = ["--maxmemory", "256mb"];

/**
 * Runs `chat-bridge doctor --json`. `faults` are the findings that are neither ok nor skipped. Fails unless each fault
 * says what to do, and names an existing page of the docs.
 *
 * @param core host:port, or another gRPC target
 */
export async function examine(
  core: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
) {
  const { code, stdout, stderr } = await runCli(["doctor", "--json", ...args], {
    role: "nobody",
    environment: { CORE_ADDRESS: core, CORE_TOKEN: STRONG_TOKENS.operator, ...environment },
  });
  expect(stderr).toBe("");
  const findings = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);
  const faults = findings.filter(({ result }) => result === "warn" || result === "fail");
  for (const { fix = "", page = "" } of faults) {
    expect(fix).toMatch(/^[a-z].{10}/);
    const [file = "", anchor] = page.split("#");
    const headings = readFileSync(join(ROOT, file), "utf8").match(/^#+ .*$/gm) ?? [];
    if (anchor !== undefined) expect(headings.map(anchorOf)).toContain(anchor);
  }
  const isFailed = faults.some(({ result }) => result === "fail");
  expect(code).toBe(isFailed ? EXIT.NO : EXIT.DONE);
  return {
    findings,
    faults,
    /** The faults as "result check". */
    names: faults.map(({ result, check }) => `${result} ${check}`),
    of: (check: string): Finding | undefined => findings.find((each) => each.check === check),
  };
}

/** Returns the anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, "")
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}
