/** The settings for commands and choices that members type. */
export interface Typing {
  /** Prefix of commands and choices, e.g. "!". */
  readonly COMMAND_PREFIX: string;
  /** Command that members type after the prefix, e.g. "play". */
  readonly COMMAND_WORD: string;
}

/**
 * A message awaits a reply only while it is among this many newest messages of a direct conversation, or among as many
 * newest messages for a whole channel. A message for one member waits only while it is the newest message for this
 * member.
 */
export const PROMPTS_SEEN = 5;

/**
 * Returns the text after the command in a typed line: "start" for "!play start", "" for "!play". Returns undefined if
 * the text is not the command. The comparison ignores case.
 */
export function readCommand(line: string, { COMMAND_PREFIX, COMMAND_WORD }: Typing): string | undefined {
  const [first = "", ...rest] = line.trim().split(/(?<=^\S+)\s+/);
  if (first.toLowerCase() !== `${COMMAND_PREFIX}${COMMAND_WORD}`.toLowerCase()) return undefined;
  return rest.join(" ").trim();
}

/**
 * Returns the number of a typed choice: 2 for "!2". In a direct conversation, the prefix is optional. Returns undefined
 * for other text.
 */
export function readChoice(
  line: string,
  { COMMAND_PREFIX }: Pick<Typing, "COMMAND_PREFIX">,
  isDirect = false,
): number | undefined {
  const typed = line.trim();
  const digits = typed.startsWith(COMMAND_PREFIX)
    ? typed.slice(COMMAND_PREFIX.length)
    : isDirect
      ? typed
      : undefined;
  return digits !== undefined && /^[1-9]\d?$/.test(digits) ? Number(digits) : undefined;
}

/** Returns whether a typed line asks for help, with or without a prefix: "help", "!help", "Help?". */
export function asksForHelp(line: string): boolean {
  return /^[^\p{L}\p{N}]?help[^\p{L}\p{N}]*$/iu.test(line.trim());
}
