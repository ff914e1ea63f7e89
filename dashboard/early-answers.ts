/** `public/early.js` sends requests while this script is still loading. Its answers are undefined if there is none. */
const { earlyAnswers } = globalThis as { readonly earlyAnswers?: Map<string, Promise<Response | undefined>> };

/** Milliseconds after which an answer that nobody has taken is too old. */
const KEPT_MS = 10_000;
setTimeout(() => earlyAnswers?.clear(), KEPT_MS);

/** Returns the answer to an early request for a path, and removes it. Resolves to undefined if there is no answer. */
export async function takeEarlyAnswer(path: string): Promise<Response | undefined> {
  const answer = earlyAnswers?.get(path);
  earlyAnswers?.delete(path);
  return answer;
}
