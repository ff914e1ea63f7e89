/** The parts of the id of a `Follow` stream. */
export interface StreamName {
  readonly group: string;
  /** The token of the stream's leases. */
  readonly token: string;
}

/**
 * Returns the id of a stream for `FollowOpened` and `Fence`. The id has at most 128 characters, as `game.proto`
 * promises.
 */
export function streamIdOf({ group, token }: StreamName): string {
  return `${group}/${token}`;
}

/** The name of a group contains no "/", and a token is a UUID. */
const FORM = /^([A-Za-z0-9._-]{1,64})\/([0-9a-f-]{36})$/;

/** Returns the group and the token in a stream's id; undefined for any other text. */
export function parseStreamId(id: string): StreamName | undefined {
  const [, group, token] = FORM.exec(id) ?? [];
  return group === undefined || token === undefined ? undefined : { group, token };
}
