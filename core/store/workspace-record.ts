import {
  activeSecrets,
  createSigningSecret,
  lapsesAtMs,
  type StoredSecret,
  type Workspace,
} from "../domain/workspace";
import { fingerprintOf, type SecretBox } from "./secret-box";

/** The stored form of a secret, which is encrypted. */
interface SealedSecret {
  readonly sealed: string;
  readonly createdAtMs: number;
  readonly retiredAtMs?: number | undefined;
}

/** The stored form of a workspace: JSON with encrypted secrets. */
interface StoredWorkspace extends Omit<Workspace, "secrets" | "operatorEvents"> {
  readonly secrets: readonly SealedSecret[];
  /** Records of older releases lack this field. */
  readonly operatorEvents?:
    | { readonly address: string; readonly secrets: readonly SealedSecret[] }
    | undefined;
}

/** Returns the stored form of a workspace. An unreadable secret keeps its encrypted text. */
export function toRecord(workspace: Workspace, box: SecretBox): string {
  const { id, secrets, operatorEvents } = workspace;
  const seal = (secret: StoredSecret): SealedSecret => ({
    sealed: secret.missingKey === undefined ? box.seal(secret.value, id) : secret.sealed,
    createdAtMs: secret.createdAtMs,
    retiredAtMs: secret.retiredAtMs,
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
  const open = ({ sealed, createdAtMs, retiredAtMs }: SealedSecret): StoredSecret => {
    const value = box.open(sealed, stored.id);
    return value === undefined
      ? { sealed, missingKey: fingerprintOf(sealed), createdAtMs, retiredAtMs }
      : createSigningSecret(value, createdAtMs, retiredAtMs);
  };
  return {
    ...stored,
    secrets: stored.secrets.map(open),
    // If the workspace has no address for operator events, this field is missing, as in records of older releases.
    ...(operatorEvents && {
      operatorEvents: { ...operatorEvents, secrets: operatorEvents.secrets.map(open) },
    }),
  };
}

/** Returns the workspace without the secrets that have expired at `nowMs`. */
export function withoutExpired(workspace: Workspace, nowMs: number): Workspace {
  const { operatorEvents } = workspace;
  return {
    ...workspace,
    secrets: activeSecrets(workspace, nowMs),
    ...(operatorEvents && {
      operatorEvents: { ...operatorEvents, secrets: activeSecrets(operatorEvents, nowMs) },
    }),
  };
}

/**
 * Returns the fingerprints of the keys with which the record's secrets are encrypted, without duplicates. Secrets that
 * are no longer active at `nowMs` are skipped.
 */
export function keysOfRecord(record: string, nowMs: number): readonly string[] {
  const { secrets, operatorEvents } = JSON.parse(record) as StoredWorkspace;
  const active = [...secrets, ...(operatorEvents?.secrets ?? [])].filter(
    (secret) => nowMs < (lapsesAtMs({ retiredAtMs: secret.retiredAtMs }) ?? Infinity),
  );
  return [...new Set(active.map(({ sealed }) => fingerprintOf(sealed)))];
}
