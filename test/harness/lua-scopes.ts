/** A fault in the use of variables in a Lua source. */
export interface ScopeFault {
  readonly line: number;
  readonly fault: string;
}

/** A block of code, or an open bracket. */
interface Frame {
  readonly opener: string;
  readonly isFunction: boolean;
  /** The names of the local variables, which can repeat: Lua also counts a variable that shadows another one. */
  readonly names: string[];
}

const TOKEN =
  /--\[\[[\s\S]*?\]\]|--[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\[\[[\s\S]*?\]\]|[A-Za-z_]\w*|\d[\w.]*|\.{2,3}|[=~<>]=|\S/g;
const NAME = /^[A-Za-z_]\w*$/;
const KEYWORDS: ReadonlySet<string> = new Set(
  "and break do else elseif end false for function if in local nil not or repeat return then true until while".split(
    " ",
  ),
);
/** Lua's `for` loop has three hidden variables. */
const HIDDEN_OF_LOOP = ["(for)", "(for)", "(for)"];

const isName = (token: string | undefined): token is string =>
  token !== undefined && NAME.test(token) && !KEYWORDS.has(token);

/**
 * Returns the faults of a Lua source. A fault is a name that is neither local nor in `globals`, or a function with more
 * than `most` local variables at the same time. Redis reports an unknown name only when its line runs.
 */
export function findScopeFaults(
  source: string,
  globals: ReadonlySet<string>,
  most: number,
): readonly ScopeFault[] {
  const tokens = [...source.matchAll(TOKEN)].filter(([text]) => !text.startsWith("--"));
  const text = (i: number): string | undefined => tokens[i]?.[0];
  const lineAt = (i: number): number => source.slice(0, tokens[i]?.index ?? 0).split("\n").length;
  const frames: Frame[] = [{ opener: "file", isFunction: true, names: [] }];
  const faults: ScopeFault[] = [];
  /** The variables of a loop until its `do` is reached. */
  let ofLoop: readonly string[] = [];
  let highest = 0;

  const top = (): Frame => frames.at(-1) as Frame;
  const push = (opener: string, names: readonly string[] = [], i = 0): void => {
    frames.push({ opener, isFunction: opener === "function", names: [] });
    for (const name of names) declare(name, i);
  };
  function declare(name: string, i: number): void {
    frames.findLast(({ opener }) => !"({[".includes(opener))?.names.push(name);
    const since = frames.findLastIndex(({ isFunction }) => isFunction);
    const count = frames.slice(since).reduce((sum, { names }) => sum + names.length, 0);
    if (count === most + 1 && lineAt(i) > highest) {
      highest = lineAt(i);
      faults.push({ line: lineAt(i), fault: `${name} is local variable ${count} of its function` });
    }
  }
  /** Returns the names in the list that begins at the token `i`, and the index of the token after the list. */
  function namesFrom(i: number): readonly [readonly string[], number] {
    const names: string[] = [];
    while (isName(text(i))) {
      names.push(text(i) as string);
      i += 1;
      if (text(i) !== ",") break;
      i += 1;
    }
    return [names, i];
  }
  function use(i: number): void {
    const name = text(i) as string;
    const isField = text(i - 1) === "." || text(i - 1) === ":";
    const isKey = top().opener === "{" && text(i + 1) === "=" && ["{", ",", ";"].includes(text(i - 1) ?? "");
    const isKnown = globals.has(name) || frames.some(({ names }) => names.includes(name));
    if (!isField && !isKey && !isKnown)
      faults.push({ line: lineAt(i), fault: `${name} is not a local variable` });
  }

  for (let i = 0; i < tokens.length; i++) {
    const token = text(i) as string;
    if (token === "local" && text(i + 1) !== "function") {
      const [names, after] = namesFrom(i + 1);
      for (const name of names) declare(name, i);
      i = after - 1;
    } else if (token === "function") {
      if (text(i - 1) === "local") declare(text(++i) as string, i);
      else if (isName(text(i + 1))) use(++i);
      while (text(i) !== "(") i += 1;
      const [names, after] = namesFrom(i + 1);
      push("function", names, i);
      i = text(after) === "..." ? after + 1 : after;
    } else if (token === "for") {
      const [names, after] = namesFrom(i + 1);
      ofLoop = [...HIDDEN_OF_LOOP, ...names];
      i = after - 1;
    } else if (token === "do") {
      push("do", ofLoop, i);
      ofLoop = [];
    } else if (token === "then" || token === "repeat" || "({[".includes(token)) {
      push(token);
    } else if (token === "else") {
      frames.pop();
      push("else");
    } else if (token === "end" || token === "until" || token === "elseif" || ")}]".includes(token)) {
      frames.pop();
    } else if (isName(token)) {
      use(i);
    }
  }
  if (frames.length !== 1)
    faults.push({ line: lineAt(tokens.length - 1), fault: `${top().opener} is not closed` });
  return faults;
}
