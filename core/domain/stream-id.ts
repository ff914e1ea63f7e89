/** A stream of followers, as its id names it. */
export interface StreamName {
  readonly group: string;
  /** The token of the stream's leases. */
  readonly token: string;
}

/** Returns the id of a stream for `FollowOpened` and `Fence`. `game.proto` promises that it has at most 128 characters. */
export function streamIdOf({ group, token }: StreamName): string {
  return `${group}/${token}`;
}

/** A group has no "/", and a token is a UUID. */
const FORM = /^([A-Za-z0-9._-]{1,64})\/([0-9a-f-]{36})$/;

/** Returns the group and the token in a stream's id; undefined for any other text. */
export function parseStreamId(id: string): StreamName | undefined {
  const [, group, token] = FORM.exec(id) ?? [];
  return group === undefined || token === undefined ? undefined : { group, token };
}
