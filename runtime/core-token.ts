/**
 * Whether a text may be a token of core. Tokens travel in gRPC metadata and HTTP
 * headers, which accept only visible ASCII. gRPC rejects other text with an error
 * that repeats the token, so tokens are checked before gRPC gets them.
 */
export function isCoreToken(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

/** Parses a token in the settings. The error says what is allowed, and never contains the token. */
export function parseCoreToken(text: string): string {
  if (!isCoreToken(text)) throw new Error("may only have visible ASCII characters and no blanks");
  return text;
}
