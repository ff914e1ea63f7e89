/** Where a page starts: at the oldest held event, after a cursor, or at the newest cursor, with no events. */
export type PageStart =
  | { readonly from: "oldest" }
  | { readonly from: "latest" }
  | { readonly from: "after"; readonly cursor: string };
