const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}]/u;

/** Whether a text has nothing to see: blanks, line breaks, controls and invisible characters at most. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}
