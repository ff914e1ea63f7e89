import { UUID_FORM } from "../../contract/forms";
import { isGroupOf, type Caller } from "../domain/caller";

/** The roles of callers. A role determines the services that a caller may call. */
export const ROLES = ["edge", "game", "operator"] as const;
export type CallerRole = (typeof ROLES)[number];

/** A token that core accepts, and the caller that it identifies. */
export interface KnownToken extends Caller {
  readonly role: CallerRole;
  readonly token: string;
}

const LABEL_FORM = /^(?<role>[a-z]+)(?::(?<name>[^@]*))?(?:@(?<scope>.*))?$/;
export const TOKEN_NAME_FORM = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Parses the part of a `CORE_TOKENS` entry before the token: `role[:name][@id+id…]`. The name is the role by default.
 * Throws an error that completes the sentence "CORE_TOKENS …".
 */
export function parseTokenLabel(label: string): Omit<KnownToken, "token"> {
  const { role: word, name = word, scope } = LABEL_FORM.exec(label)?.groups ?? {};
  const role = ROLES.find((each) => each === word);
  if (role === undefined || name === undefined) throw new Error("has a pair that is not role=token");
  if (!TOKEN_NAME_FORM.test(name)) {
    throw new Error(
      `has a name for the role ${role} that is not 1 to 64 characters of A-Z a-z 0-9 . _ - (role:name=token)`,
    );
  }
  if (scope === undefined) return { role, name, workspaces: undefined };
  if (role === "edge") throw new Error("limits a token of the role edge: an edge needs all workspaces");
  const ids = scope.split("+");
  if (!ids.every((id) => UUID_FORM.test(id) && id === id.toLowerCase())) {
    throw new Error(
      `limits the token ${name} to a workspace id that is not a UUID in lower case (role:name@id+id=token)`,
    );
  }
  return { role, name, workspaces: new Set(ids) };
}

/** Throws if two tokens contradict each other. The error completes the sentence "CORE_TOKENS …". */
export function checkTokens(tokens: readonly KnownToken[]): void {
  for (const [at, one] of tokens.entries()) {
    for (const other of tokens.slice(0, at)) {
      const fault = other.role === one.role ? findConflict(one, other) : undefined;
      if (fault !== undefined) throw new Error(fault);
    }
  }
}

function findConflict(one: KnownToken, other: KnownToken): string | undefined {
  if (one.token === other.token && one.name !== other.name) {
    return `has one token twice for the role ${one.role}, with the names ${other.name} and ${one.name}`;
  }
  if (haveSameScope(one, other)) return undefined;
  if (one.name === other.name) {
    return `has two tokens of the role ${one.role} with the name ${one.name} but with different workspaces`;
  }
  const isShared =
    one.role === "game" &&
    one.workspaces !== undefined &&
    other.workspaces !== undefined &&
    (isGroupOf(one.name, other.name) || isGroupOf(other.name, one.name));
  return isShared
    ? `has game tokens with the names ${other.name} and ${one.name}, which could follow the same groups for different workspaces`
    : undefined;
}

/** Whether two tokens are limited to the same workspaces. */
export function haveSameScope(one: Caller, other: Caller): boolean {
  const [a, b] = [one.workspaces, other.workspaces];
  return a === undefined || b === undefined ? a === b : a.size === b.size && [...a].every((id) => b.has(id));
}

/** Returns the names of the game tokens that are limited to some workspaces. */
export function limitedGames(tokens: readonly KnownToken[]): readonly string[] {
  const limited = tokens.filter(({ role, workspaces }) => role === "game" && workspaces !== undefined);
  return [...new Set(limited.map(({ name }) => name))];
}
