import { CURSOR_FORM } from "../../contract/forms";

/** Where a page starts: at the oldest held event, after a cursor, or at the newest cursor, with no events. */
export type PageStart =
  | { readonly from: "oldest" }
  | { readonly from: "latest" }
  | { readonly from: "after"; readonly cursor: string };

export function isCursor(text: string): boolean {
  return CURSOR_FORM.test(text);
}
