import { checkSecrets, type SecretList } from "./signature";

/**
 * The signing secrets of a workspace: one, or during a rotation both, the new one first. A function is asked
 * anew for every request, so that a rotation needs no restart, and answers for any number of workspaces;
 * undefined says that the workspace is not known here.
 */
export type Secrets = SecretList | SecretLookup;
export type SecretLookup = (workspaceId: string) => SecretList | undefined | Promise<SecretList | undefined>;

/**
 * How the secrets of a workspace are looked up.
 *
 * @throws RangeError when there is no secret, or an empty one, and this is known already
 */
export function secretLookup(secrets: Secrets): SecretLookup {
  if (typeof secrets === "function") return secrets;
  checkSecrets(secrets);
  return () => secrets;
}

/** A look-up of the secrets of one workspace, which must be known: it rejects with a RangeError otherwise. */
export function secretsOfOne(secrets: Secrets, workspaceId: string): () => Promise<SecretList> {
  const lookup = secretLookup(secrets);
  return async () => {
    const found = await lookup(workspaceId);
    if (found === undefined) throw new RangeError(`there are no secrets for workspace ${workspaceId}`);
    return found;
  };
}
