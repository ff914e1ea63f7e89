/**
 * Minimum lengths of a name in which one typing error is suspected, and of a name in which two are suspected. Shorter
 * names may belong to other programs.
 */
const LENGTH_MIN = 5;
const LENGTH_MIN_OF_TWO = 9;

/**
 * Returns one line for each environment variable that is probably a misspelled setting: its name differs by one or two
 * typing errors from an unset setting in `known`.
 */
export function misspelledSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: ReadonlySet<string>,
): readonly string[] {
  const unset = [...known].filter((name) => !environment[name]);
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || !environment[name] || name.length < LENGTH_MIN) return [];
    const errors = name.length < LENGTH_MIN_OF_TWO ? 1 : 2;
    const near = unset
      .filter((each) => Math.abs(each.length - name.length) <= errors)
      .map((each) => ({ each, distance: typingErrors(name, each) }))
      .filter(({ distance }) => distance <= errors)
      .toSorted((a, b) => a.distance - b.distance);
    return near[0] === undefined ? [] : [`${name} is not a setting: did you mean ${near[0].each}?`];
  });
}

/**
 * Returns the minimum number of inserted, deleted, replaced and swapped letters that turn one word into the other (the
 * Damerau-Levenshtein distance).
 */
function typingErrors(from: string, to: string): number {
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(
        (row[j - 1] ?? 0) + 1,
        (last[j] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}
