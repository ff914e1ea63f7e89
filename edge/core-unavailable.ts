/** Core, or its answer, is out of reach: whether it did what it was asked is unknown. */
export class CoreUnavailable extends Error {
  override readonly name = "CoreUnavailable";
}

/** Core is there, and does not let this edge in. */
export class CoreRefusesToken extends CoreUnavailable {}
