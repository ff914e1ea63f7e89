/** The names of the games that answer in the same workspaces. */
export interface GameNames {
  /** The name of this game. */
  readonly own: string;
  /** The names of all games, including this one. The first game also answers commands that do not begin with a name. */
  readonly all: readonly string[];
}

/** Pattern of a name. A name is the first word of a command and the first part of a button's `action`. */
export const NAME_FORM = /^[a-z0-9-]{1,32}$/;

/** Returns whether this game answers commands that do not begin with a game's name. */
export const isFirst = ({ own, all }: GameNames): boolean => own === all[0];

/** Returns the words of a command for this game, without the game's name. Returns undefined for another game's command. */
export function readCommand(text: string, names: GameNames): readonly string[] | undefined {
  const words = text
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
  const named = words[0]?.toLowerCase() ?? "";
  if (named === names.own) return words.slice(1);
  return isFirst(names) && !names.all.includes(named) ? words : undefined;
}

/** Returns the command that a member sends for `verb` of this game, e.g. `start` or `quiz start`. */
export function writeCommand(verb: string, names: GameNames): string {
  const words = isFirst(names) ? [verb] : [names.own, verb];
  return words.filter((word) => word !== "").join(" ");
}
