import { randomUUID } from "node:crypto";
import { createSigningSecret, type Workspace } from "../../core/domain/workspace";

/** Returns a connected workspace of the custom platform, as core would create it. */
export function newWorkspace(fields: Partial<Workspace> = {}): Workspace {
  const createdAtMs = fields.createdAtMs ?? Date.now();
  return {
    id: randomUUID(),
    name: "test",
    ownerEmail: "",
    platform: "custom",
    connected: true,
    targetUrl: "",
    secrets: [createSigningSecret("a secret", createdAtMs)],
    createdAtMs,
    ...fields,
  };
}
