import type { WorkspaceShape } from "./shapes";

/** Returns whether a workspace's name, id, owner or target URL contains `words`, ignoring case. */
export function matchesWords(
  { name, id, ownerEmail, targetUrl }: Pick<WorkspaceShape, "name" | "id" | "ownerEmail" | "targetUrl">,
  words: string,
): boolean {
  const wanted = folded(words);
  return [name, id, ownerEmail, targetUrl].some((text) => folded(text).includes(wanted));
}

/** Normalizes a text for comparisons, so that upper and lower case and equivalent characters are equal. */
export function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
