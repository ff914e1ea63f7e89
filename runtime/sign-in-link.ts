/** Thrown when the dashboard rejects a request for a sign-in link. */
export class SignInRejected extends Error {
  override readonly name = "SignInRejected";
}

const ANSWER_WITHIN_MS = 10_000;

/**
 * Resolves to the path of a link that can be used once to sign in to the dashboard. Rejects with `SignInRejected` when
 * the dashboard rejects the token, and with another `Error` when the dashboard cannot be reached.
 *
 * @param dashboard base URL of the dashboard
 * @param token an operator's token
 */
export async function signInPath(dashboard: string, token: string): Promise<string> {
  const answer = await fetch(`${dashboard}/api/sign-in-links`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "x-dashboard": "1" },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  const { path, message } = (await answer.json()) as { path?: string; message?: string };
  if (path === undefined) throw new SignInRejected(message);
  return path;
}
