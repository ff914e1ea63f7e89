import type { MatrixApi } from "./matrix-api";
import { untilAnswered } from "./retrying";
import { withTimeLimit } from "./time-limit";

/**
 * Maximum milliseconds for a join. To join a room, the homeserver may need a server that is down. While the bridge
 * joins, it reads no events of other rooms.
 */
const JOIN_WITHIN_MS = 60_000;

export interface JoinOptions {
  readonly signal: AbortSignal;
  /** A server through which the homeserver can join. */
  readonly via?: string;
  readonly withinMs?: number;
}

/**
 * Joins a room. Retries temporary failures for a minute. Rejects after this minute, or if the homeserver refuses the
 * join.
 */
export async function joinRoom(
  api: Pick<MatrixApi, "join">,
  roomId: string,
  { signal, via, withinMs = JOIN_WITHIN_MS }: JoinOptions,
): Promise<void> {
  await withTimeLimit(withinMs, signal, (limited) =>
    untilAnswered(() => api.join(roomId, via), { signal: limited }),
  );
}
