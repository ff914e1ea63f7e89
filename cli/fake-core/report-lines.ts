import type { Finding, Occurrence } from "../../kit/game/testing/memory-core";

/** Returns the number of findings that are broken rules. */
export const brokenOf = (findings: readonly Finding[]): number =>
  findings.filter(({ severity }) => severity === "broken").length;

export function reportJson(findings: readonly Finding[]): object {
  return { broken: brokenOf(findings), findings };
}

export function reportLines(findings: readonly Finding[]): readonly string[] {
  if (findings.length === 0) return ["Report: the game broke no rule."];
  const broken = brokenOf(findings);
  const lines = findings.map(
    ({ code, severity, count, example, advice }) =>
      `  ${severity === "broken" ? "BROKEN" : "advice"} ${code}, ${count === 1 ? "once" : `${count} times`}: ${advice} (e.g. ${example})`,
  );
  return [
    `Report: ${broken === 0 ? "the game broke no rule" : `the game broke ${broken} ${broken === 1 ? "rule" : "rules"}`}.`,
    ...lines,
  ];
}

export const findingLine = ({ code, severity, detail, advice }: Occurrence): string =>
  `! ${code} (${severity === "broken" ? "broken rule" : "advice"}): ${detail}; ${advice}`;
