/**
 * Describes the rule that a body or a query breaks, as the edge reports it. `field` is absent if the rule concerns the
 * whole body or query.
 */
export interface FieldViolation {
  readonly field?: string | undefined;
  readonly message: string;
}

/** The reasons why core rejects a bridge's request. The edge maps each reason to a status. */
export type Refusal =
  | { readonly refused: "address-limit"; readonly retryAfterSeconds: number }
  | { readonly refused: "unknown-workspace" }
  | { readonly refused: "signature" }
  /** The message of the violation says how far the timestamp is from the service clock. */
  | { readonly refused: "timestamp"; readonly violation: FieldViolation }
  | { readonly refused: "workspace-limit"; readonly retryAfterSeconds: number }
  | { readonly refused: "invalid"; readonly violation: FieldViolation }
  | { readonly refused: "push-workspace" }
  /** Core cannot check the signature, because it lacks the key with the fingerprint `missingKey`. */
  | { readonly refused: "secret-unreadable"; readonly missingKey: string };

/** Whether core had accepted the request's signature and timestamp before a later check rejected the request. */
export function isSigned({ refused }: Refusal): boolean {
  return refused === "workspace-limit" || refused === "invalid" || refused === "push-workspace";
}
