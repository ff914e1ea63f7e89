import type { ClientDuplexStream } from "@grpc/grpc-js";
import type { LaneRequest, LaneResponse } from "../../proto/gen/chatbridge/v1/bridge";

export type LaneStream = ClientDuplexStream<LaneRequest, LaneResponse>;

/**
 * The states of a lane:
 *
 *     a call             core accepts the stream
 *   idle ─────▶ opening ────────────────────────▶ open
 *                ▲   │                              │
 *         a call │   │ the stream ends              │ the stream ends: its pending calls are rejected
 *                │   ▼                              │
 *               resting ◀───────────────────────────┘
 *
 * A call reopens a resting lane only after `until`, which is a value of `performance.now()`.
 *
 * When another lane has replaced a lane, the lane is retired: it gets no new calls, and is closed when its pending calls
 * are answered.
 */
type LaneState =
  | { readonly name: "idle" }
  | { readonly name: "opening" | "open"; readonly stream: LaneStream }
  | { readonly name: "resting"; readonly until: number };

/** A place for a stream to core. */
export interface Lane {
  state: LaneState;
  /** Number of streams that have ended since core last answered a call on this lane. */
  failures: number;
  /** Number of calls on this lane without an answer. */
  calls: number;
  /** Whether another lane replaces this lane, and whether it has done so. */
  isReplaced: boolean;
  isRetired: boolean;
}

export function idleLane(): Lane {
  return { state: { name: "idle" }, failures: 0, calls: 0, isReplaced: false, isRetired: false };
}

/**
 * Calls `listener` when the stream has failed, ended or closed; up to three times. Core or a proxy can also end a stream
 * without an error.
 */
export function whenOver(stream: LaneStream, listener: () => void): void {
  for (const event of ["error", "end", "close"]) stream.once(event, listener);
}
