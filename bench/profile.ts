import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** The fields of a .cpuprofile that are read here. */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const TOP = 20;

/** Returns lines with the functions that have the most self time, for each profile of a folder. */
export function profileLines(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".cpuprofile"));
  return files.flatMap((file) => {
    const profile = JSON.parse(readFileSync(join(folder, file), "utf8")) as Profile;
    return [`${join(folder, file)}:`, ...topOf(profile)];
  });
}

function topOf({ nodes, samples, timeDeltas }: Profile): readonly string[] {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const where = url === "" ? "" : ` ${basename(url)}:${lineNumber + 1}`;
      return [id, `${functionName || "(anonymous)"}${where}`];
    }),
  );
  const times = new Map<string, number>();
  let busy = 0;
  for (const [i, id] of samples.entries()) {
    const name = names.get(id) ?? "";
    const time = timeDeltas[i] ?? 0;
    times.set(name, (times.get(name) ?? 0) + time);
    if (name !== "(idle)") busy += time;
  }
  times.delete("(idle)");
  return [...times]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, TOP)
    .map(([name, time]) => `  ${((100 * time) / busy).toFixed(1).padStart(5)} %  ${name}`);
}
