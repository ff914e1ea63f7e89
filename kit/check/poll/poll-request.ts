/** A poll, as the fake service received it. */
export interface PollRequest {
  /** Path and query, as sent. */
  readonly target: string;
  /** Everything after the `?`, as sent; empty if there is no query. */
  readonly query: string;
  /** The parameters of the query, decoded, in order. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** Value of the parameter `after`; undefined if the poll has no `after`. */
  readonly after: string | undefined;
  /** Maximum number of events on the page. */
  readonly limit: number;
  /** The header Service-Signature. */
  readonly signature: string | undefined;
  /** Time of arrival on the clock of `performance`, ms. */
  readonly atMs: number;
  /** Time of arrival, ms since the epoch. */
  readonly nowMs: number;
}

/** Returns the values of a parameter. */
export function valuesOf({ parameters }: Pick<PollRequest, "parameters">, name: string): readonly string[] {
  return parameters.filter(([each]) => each === name).map(([, value]) => value);
}

/** Returns the `after` of a poll as the object of a phrase such as "the next poll had …". */
export function afterOf({ after }: { readonly after: string | undefined }): string {
  return after === undefined ? "no `after`" : `after=${JSON.stringify(after)}`;
}
