import type { Caller } from "../domain/caller";

/** The kinds of tokens: a token that is limited to some workspaces has a smaller share. */
export type TokenKind = "token" | "limitedToken";

/**
 * Returns the owner of the share that a caller uses. All tokens with the same name use one share together. All calls
 * without a token (`undefined`) together use the share of one limited token.
 */
export function ownerOf(caller: Caller | undefined): Partial<Record<TokenKind, string>> {
  if (caller === undefined) return { limitedToken: "" };
  return caller.workspaces === undefined ? { token: caller.name } : { limitedToken: caller.name };
}

/** Returns the message of a refusal. The message says which limit was reached, and what to do. */
export function tooMuch(what: string, full: TokenKind | "all", caller: Caller | undefined): string {
  if (full === "all")
    return `this core already has ${what}, which is the limit: use another core, or retry later`;
  if (caller === undefined)
    return `this core already has ${what} without a token, which is the limit: use another core, or retry later`;
  const of = full === "token" ? "one token" : "a token that is limited to some workspaces";
  return `the token ${caller.name} already has ${what} at this core, which is the limit of ${of}: wait for them to end, or retry later`;
}
