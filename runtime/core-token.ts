/**
 * Whether a text may be a token of core. Tokens travel in gRPC metadata and HTTP
 * headers, which take visible ASCII alone; gRPC fails on any other with a message
 * that repeats the token, so none gets that far.
 */
export function isCoreToken(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

/** Reads a token for settings; the fault says what is allowed, and never the token. */
export function parseCoreToken(text: string): string {
  if (!isCoreToken(text)) throw new Error("may only have letters, digits and signs of ASCII, and no blanks");
  return text;
}
