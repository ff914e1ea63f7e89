/** Characters that change the direction of the text after them, e.g. U+202E. */
const DIRECTION = /\p{Bidi_Control}/gu;
/**
 * Characters that are invisible by themselves: white space, combining marks, and ignorable characters such as U+200B
 * and U+3164.
 */
const INVISIBLE = /^[\s\p{M}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
/** Letters that are written from right to left, e.g. Hebrew and Arabic. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const [ISOLATE, END_OF_ISOLATE] = ["\u2068", "\u2069"];

/**
 * Returns a member's name in a form that is safe within a left-to-right line. Characters that change the direction are
 * removed. A name with right-to-left letters is put between isolate characters. So the text that follows the name, e.g.
 * a score, is still shown after the name.
 *
 * The result is not escaped: pass it to `escapeLine`.
 *
 * @param placeholder the result if the name has no visible characters, e.g. if it is only U+200B
 */
export function displayName(name: string, placeholder: string): string {
  const shown = name.replaceAll(DIRECTION, "").trim();
  if (INVISIBLE.test(shown)) return placeholder;
  return RIGHT_TO_LEFT.test(shown) ? ISOLATE + shown + END_OF_ISOLATE : shown;
}
