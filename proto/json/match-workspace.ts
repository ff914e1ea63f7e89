import type { WorkspaceShape } from "./shapes";

/** Returns whether the name, the id, the owner or the target URL of a workspace contains the words, in any case. */
export function matchesWords(
  { name, id, ownerEmail, targetUrl }: Pick<WorkspaceShape, "name" | "id" | "ownerEmail" | "targetUrl">,
  words: string,
): boolean {
  const wanted = folded(words);
  return [name, id, ownerEmail, targetUrl].some((text) => folded(text).includes(wanted));
}

/** Returns the form of a text in which two texts are equal that people consider equal. */
export function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
