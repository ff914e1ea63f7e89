import { errorReply } from "./connection";

/**
 * Explanations of error replies, keyed by the reply's first word. Redis's own replies contain more detail, but do not
 * say what to do.
 */
const WORDS: Readonly<Record<string, string>> = {
  LOADING: "Redis is loading its data (LOADING)",
  NOAUTH: "Redis requires a password (NOAUTH): add it to REDIS_URL",
  NOPERM: "the user of REDIS_URL lacks a permission (NOPERM)",
  WRONGPASS: "Redis rejects the user name or the password (WRONGPASS): check REDIS_URL",
};

/**
 * Returns why Redis rejects calls, if the error is an error reply or a `StoreUnavailable` that such a reply caused;
 * otherwise undefined.
 */
export function replyFault(error: unknown): string | undefined {
  const reply = errorReply(error);
  if (reply === undefined) return undefined;
  const [word = ""] = reply.split(/\s/, 1);
  // A reply about an unknown command can repeat the arguments of the command, and these may contain a password.
  return WORDS[word] ?? `Redis rejects calls: ${reply.replace(/,? with args beginning with.*/s, "")}`;
}

/** Returns, in one line without secrets, why a connection or a call failed. */
export function redisFault(error: unknown): string {
  const [first = error] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  return replyFault(first) ?? (first instanceof Error ? first.message : String(first));
}
