/** A fault that the edge found in a body or a query; no field when the whole is at fault. */
export interface FieldViolation {
  readonly field?: string | undefined;
  readonly message: string;
}

/** Why a bridge's request is refused: the closed list of what core decides. The edge maps it to statuses. */
export type Refusal =
  | { readonly refused: "address-limit"; readonly retryAfterSeconds: number }
  | { readonly refused: "unknown-workspace" }
  | { readonly refused: "signature" }
  | { readonly refused: "timestamp" }
  | { readonly refused: "workspace-limit"; readonly retryAfterSeconds: number }
  | { readonly refused: "invalid"; readonly violation: FieldViolation }
  | { readonly refused: "push-workspace" };
