import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseMetrics } from "../../../../test/harness/metrics";
import { GameMetrics } from "../../metrics";
import { zeroCounts } from "../../run-counts";

test("the README lists exactly the metrics of a game, each with its type, labels and help text", async () => {
  const metrics = new GameMetrics("dice");
  metrics.handled(1);
  metrics.read({
    counts: zeroCounts(),
    refusals: new Map([["invalid", 1]]),
    workspaces: () => 0,
    isFollowing: () => true,
  });
  const own = [...parseMetrics(await metrics.text())].flatMap(([name, { type, help, values }]) => {
    if (!name.startsWith("chatbridge_game_")) return [];
    const labels = new Set([...values.keys()].flatMap((key) => key.match(/\w+(?==")/g) ?? []));
    expect(labels.delete("game")).toBe(true);
    labels.delete("le");
    return [[name, type, [...labels].map((label) => `\`${label}\``).join(", "), help].join(" | ")];
  });
  const readme = readFileSync(join(__dirname, "../../README.md"), "utf8");
  const rows = readme.split("\n").flatMap((line) => {
    const [, name = "", ...cells] = line.split("|").map((cell) => cell.trim());
    return /^`chatbridge_game_\w+`$/.test(name)
      ? [[name.slice(1, -1), ...cells.slice(0, 3)].join(" | ")]
      : [];
  });
  expect(rows.toSorted((a, b) => a.localeCompare(b))).toEqual(own.toSorted((a, b) => a.localeCompare(b)));
});
