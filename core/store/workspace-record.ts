import { createSigningSecret, type Workspace } from "../domain/workspace";
import type { SecretBox } from "./secret-box";

/** The stored form of a workspace: JSON with encrypted secrets. */
interface StoredWorkspace extends Omit<Workspace, "secrets"> {
  readonly secrets: readonly {
    readonly sealed: string;
    readonly createdAtMs: number;
    readonly retiredAtMs?: number | undefined;
  }[];
}

export function toRecord(workspace: Workspace, box: SecretBox): string {
  const stored: StoredWorkspace = {
    ...workspace,
    secrets: workspace.secrets.map(({ value, createdAtMs, retiredAtMs }) => ({
      sealed: box.seal(value, workspace.id),
      createdAtMs,
      retiredAtMs,
    })),
  };
  return JSON.stringify(stored);
}

export function fromRecord(record: string, box: SecretBox): Workspace {
  const stored = JSON.parse(record) as StoredWorkspace;
  return {
    ...stored,
    secrets: stored.secrets.map(({ sealed, createdAtMs, retiredAtMs }) =>
      createSigningSecret(box.open(sealed, stored.id), createdAtMs, retiredAtMs),
    ),
  };
}
