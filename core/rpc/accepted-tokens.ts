import { createHash, timingSafeEqual } from "node:crypto";
import type { Caller } from "../domain/caller";
import { weaknessOf } from "../domain/token-weakness";
import { haveSameScope, limitedGames, type CallerRole, type KnownToken } from "./known-tokens";

/** A caller of core, as its token's entry in the settings describes it. */
export interface AcceptedCaller extends Caller {
  readonly role: CallerRole;
}

/** An accepted caller, with a digest of its token in place of the token. */
interface Entry extends AcceptedCaller {
  /** Why the token is easy to guess; undefined when no reason is found. */
  readonly weakness: string | undefined;
  readonly digest: Buffer;
}

/** The names of the tokens that a change of the settings has added and removed, e.g. `operator:alice`. */
export interface TokenChange {
  readonly tokens: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * The tokens that core accepts now. `replace` changes them while core runs. An unchanged entry keeps its
 * `AcceptedCaller` object, so `isCurrent` can compare objects.
 */
export class AcceptedTokens {
  #entries: readonly Entry[];
  #limitedGames: readonly string[];
  readonly #listeners = new Set<() => void>();

  constructor(tokens: readonly KnownToken[]) {
    this.#entries = tokens.map(toEntry);
    this.#limitedGames = limitedGames(tokens);
  }

  /** The names of the game tokens that are limited to some workspaces. */
  get limitedGames(): readonly string[] {
    return this.#limitedGames;
  }

  /** Returns all callers, each with the reason why its token is easy to guess. */
  describe(): readonly (AcceptedCaller & { readonly weakness: string | undefined })[] {
    return this.#entries;
  }

  /** Returns the number of tokens with a role. */
  count(role: CallerRole): number {
    return this.#entries.filter((each) => each.role === role).length;
  }

  /** Returns the callers with this token: at most one for each role. */
  callersWith(token: string): readonly AcceptedCaller[] {
    const sent = digest(token);
    return this.#entries.filter((each) => timingSafeEqual(each.digest, sent));
  }

  /** Whether the entry of a caller still exists, with the same token, role, name and workspaces. */
  isCurrent(caller: AcceptedCaller): boolean {
    return this.#entries.some((each) => each === caller);
  }

  /** Whether core still accepts the token of a caller, perhaps with another name or other workspaces. */
  acceptsTokenOf(caller: AcceptedCaller): boolean {
    const { digest: known } = caller as Entry;
    return this.#entries.some(({ role, digest: one }) => role === caller.role && timingSafeEqual(one, known));
  }

  replace(tokens: readonly KnownToken[]): TokenChange {
    const before = this.#entries;
    this.#entries = tokens.map((token) => {
      const entry = toEntry(token);
      return before.find((each) => isSame(each, entry)) ?? entry;
    });
    this.#limitedGames = limitedGames(tokens);
    const after = this.#entries;
    const change = {
      tokens: after.length,
      added: after.filter((each) => !before.includes(each)).map(labelOf),
      removed: before.filter((each) => !after.includes(each)).map(labelOf),
    };
    for (const listener of this.#listeners) listener();
    return change;
  }

  /** Calls `listener` after each `replace`. Returns a function that removes the listener. */
  onReplaced(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function toEntry({ token, ...caller }: KnownToken): Entry {
  return { ...caller, digest: digest(token), weakness: weaknessOf(token) };
}

/**
 * The SHA-256 digests of all tokens have the same length, so comparing them does not reveal the length of a token. The
 * tokens come from core's settings. They are not passwords, so core does not use bcrypt.
 */
function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function isSame(a: Entry, b: Entry): boolean {
  return a.role === b.role && a.name === b.name && haveSameScope(a, b) && timingSafeEqual(a.digest, b.digest);
}

function labelOf({ role, name }: AcceptedCaller): string {
  return role === name ? role : `${role}:${name}`;
}
