import { checkSecrets, type SecretList } from "./signature";

/**
 * The signing secrets of a workspace: one secret, or two during a rotation, the new secret first. If a function is
 * given instead, the kit calls the function for every request, so a rotation needs no restart. The function can look up
 * the secrets of any number of workspaces, and returns undefined for an unknown workspace.
 */
export type Secrets = SecretList | SecretLookup;
export type SecretLookup = (workspaceId: string) => SecretList | undefined | Promise<SecretList | undefined>;

/**
 * Returns a function that looks up secrets by workspace id.
 *
 * @throws RangeError when `secrets` is an empty list, or when a secret is invalid
 */
export function secretLookup(secrets: Secrets): SecretLookup {
  if (typeof secrets === "function") return secrets;
  checkSecrets(secrets);
  return () => secrets;
}

/** Returns a function that looks up the secrets of one workspace, and rejects with a RangeError if there are none. */
export function secretsOfOne(secrets: Secrets, workspaceId: string): () => Promise<SecretList> {
  const lookup = secretLookup(secrets);
  return async () => {
    const found = await lookup(workspaceId);
    if (found === undefined) throw new RangeError(`there are no secrets for workspace ${workspaceId}`);
    return found;
  };
}
