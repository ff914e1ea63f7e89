import { createSigningSecret, type SigningSecret, type Workspace } from "../domain/workspace";
import type { SecretBox } from "./secret-box";

/** The stored form of a secret, which is encrypted. */
interface StoredSecret {
  readonly sealed: string;
  readonly createdAtMs: number;
  readonly retiredAtMs?: number | undefined;
}

/** The stored form of a workspace: JSON with encrypted secrets. */
interface StoredWorkspace extends Omit<Workspace, "secrets" | "operatorEvents"> {
  readonly secrets: readonly StoredSecret[];
  /** Records of older releases lack this field. */
  readonly operatorEvents?:
    | { readonly address: string; readonly secrets: readonly StoredSecret[] }
    | undefined;
}

export function toRecord(workspace: Workspace, box: SecretBox): string {
  const { id, secrets, operatorEvents } = workspace;
  const seal = ({ value, createdAtMs, retiredAtMs }: SigningSecret): StoredSecret => ({
    sealed: box.seal(value, id),
    createdAtMs,
    retiredAtMs,
  });
  const stored: StoredWorkspace = {
    ...workspace,
    secrets: secrets.map(seal),
    operatorEvents: operatorEvents && { ...operatorEvents, secrets: operatorEvents.secrets.map(seal) },
  };
  return JSON.stringify(stored);
}

export function fromRecord(record: string, box: SecretBox): Workspace {
  const { operatorEvents, ...stored } = JSON.parse(record) as StoredWorkspace;
  const open = ({ sealed, createdAtMs, retiredAtMs }: StoredSecret): SigningSecret =>
    createSigningSecret(box.open(sealed, stored.id), createdAtMs, retiredAtMs);
  return {
    ...stored,
    secrets: stored.secrets.map(open),
    // A record without an address has no such field, as in older releases.
    ...(operatorEvents && {
      operatorEvents: { ...operatorEvents, secrets: operatorEvents.secrets.map(open) },
    }),
  };
}
