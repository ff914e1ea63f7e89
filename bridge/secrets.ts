import { checkSecrets, type SecretList } from "./signature";

/**
 * The signing secrets of a workspace: one, or both during a rotation, the new one first. A function is called for
 * every request, so that a rotation needs no restart, and may serve any number of workspaces. It returns undefined
 * for an unknown workspace.
 */
export type Secrets = SecretList | SecretLookup;
export type SecretLookup = (workspaceId: string) => SecretList | undefined | Promise<SecretList | undefined>;

/**
 * Returns a lookup of secrets by workspace id.
 *
 * @throws RangeError when `secrets` is not a function and has no secret, or an empty one
 */
export function secretLookup(secrets: Secrets): SecretLookup {
  if (typeof secrets === "function") return secrets;
  checkSecrets(secrets);
  return () => secrets;
}

/** Returns a lookup of the secrets of one workspace. The lookup rejects with a RangeError if there are none. */
export function secretsOfOne(secrets: Secrets, workspaceId: string): () => Promise<SecretList> {
  const lookup = secretLookup(secrets);
  return async () => {
    const found = await lookup(workspaceId);
    if (found === undefined) throw new RangeError(`there are no secrets for workspace ${workspaceId}`);
    return found;
  };
}
