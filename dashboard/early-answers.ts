/**
 * `public/early.js` sends requests while this script is still loading. `earlyAnswers` contains the answers by path; it
 * is undefined if that script did not run.
 */
const { earlyAnswers } = globalThis as { readonly earlyAnswers?: Map<string, Promise<Response | undefined>> };

/** Milliseconds after which unused answers are discarded, because they are too old. */
const KEPT_MS = 10_000;
setTimeout(() => earlyAnswers?.clear(), KEPT_MS);

/** Returns the answer to an early request for a path, and removes it. Resolves to undefined if there is no answer. */
export async function takeEarlyAnswer(path: string): Promise<Response | undefined> {
  const answer = earlyAnswers?.get(path);
  earlyAnswers?.delete(path);
  return answer;
}
