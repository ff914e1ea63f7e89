const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}]/u;

/**
 * Whether a string has no visible characters: it contains only whitespace, control characters and invisible characters.
 */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}
