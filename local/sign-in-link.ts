import { StartFault } from "./start-fault";

const ANSWER_WITHIN_MS = 10_000;

/** Resolves to a link that signs one person in to the dashboard, once. Throws StartFault. */
export async function signInLink(dashboard: string, operatorToken: string): Promise<string> {
  try {
    const answer = await fetch(`${dashboard}/api/sign-in-links`, {
      method: "POST",
      headers: { authorization: `Bearer ${operatorToken}`, "x-dashboard": "1" },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const { path, message } = (await answer.json()) as { path?: string; message?: string };
    if (path === undefined) throw new Error(message);
    return `${dashboard}${path}`;
  } catch (error) {
    throw new StartFault(`Cannot get a sign-in link from the dashboard: ${(error as Error).message}`);
  }
}
