/** Core is unavailable, or its answer was lost. The call may still have taken effect. */
export class CoreUnavailable extends Error {
  override readonly name = "CoreUnavailable";
}

/** Core is available, but rejects the token of this edge. */
export class CoreRefusesToken extends CoreUnavailable {}
