import { inspect } from "node:util";

/** The looks of text on a terminal, each with its name in `util.inspect.colors`. */
const LOOKS = {
  good: "green",
  bad: "red",
  warning: "yellow",
  link: "cyan",
  strong: "bold",
  dim: "gray",
} as const;

/** The look of a piece of text, named by its meaning or its emphasis. */
export type Look = keyof typeof LOOKS;

/** The environment variables that turn colour on or off. */
export type ColourEnvironment = Readonly<Record<string, string | undefined>>;

const OFF: readonly string[] = ["0", "false"];

/**
 * Returns whether a program prints colour to a stream. `FORCE_COLOR` decides, if it is set: "0" and "false" turn colour
 * off, and other values turn colour on. Otherwise a terminal shows colour, unless `NO_COLOR` is set or the terminal is
 * "dumb".
 */
export function hasColour(
  { isTTY = false }: { readonly isTTY?: boolean },
  environment: ColourEnvironment,
): boolean {
  const { FORCE_COLOR: forced, NO_COLOR, TERM } = environment;
  if (forced !== undefined) return !OFF.includes(forced);
  return isTTY && !NO_COLOR && TERM !== "dumb";
}

/** Returns text between the escape sequences that turn a look on and off. The text must not contain line breaks. */
export function coloured(look: Look, text: string): string {
  const [on, off] = inspect.colors[LOOKS[look]] ?? [0, 0];
  return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
}
