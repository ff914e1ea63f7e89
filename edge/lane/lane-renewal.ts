import { Lane, type LaneContext } from "./lane";

/**
 * Milliseconds between attempts to replace a lane. The pause limits the number of attempts while no other core accepts
 * lanes. A stopping core keeps its streams open for longer than this pause.
 */
const RETRY_MS = 50;

/**
 * Replaces lanes with successors. Until its successor takes over, a lane works as before: it can also break and be
 * reopened.
 *
 *                                ┌─────────────────────┐ the stream ends
 *                                ▼                     │
 *   the lane's core stops ──▶ waiting ── 50 ms ──▶ connecting ── core accepts the successor's stream ──▶ replaced
 *                                                      ▲
 *   the edge renews its connections ───────────────────┘
 */
export class LaneRenewal {
  /** The successors of the lanes that are being replaced. */
  readonly #successors = new Map<Lane, Lane>();
  readonly #retired = new Set<Lane>();
  readonly #lanes: Lane[];
  readonly #context: LaneContext;

  /** @param lanes the lanes that get new calls; a successor takes over the index of the lane that it replaces */
  constructor(lanes: Lane[], context: LaneContext) {
    this.#lanes = lanes;
    this.#context = context;
  }

  /** The lanes that have a stream but get no new calls: successors and retired lanes. */
  get furtherLanes(): readonly Lane[] {
    return [...this.#successors.values(), ...this.#retired];
  }

  /**
   * Replaces a lane as soon as core has accepted the stream of a successor. Until then, the old lane gets the calls,
   * because calls on a stream that no core has accepted yet may be lost if the core closes its connection.
   */
  async replace(lane: Lane): Promise<void> {
    if (!lane.hasStream || this.#successors.has(lane) || !this.#lanes.includes(lane)) return;
    const successor = new Lane(this.#context);
    this.#successors.set(lane, successor);
    const isAccepted = await successor.connect();
    this.#successors.delete(lane);
    if (!isAccepted) return this.replaceSoon(lane);
    this.#lanes[this.#lanes.indexOf(lane)] = successor;
    this.#retired.add(lane);
    await lane.retire();
    this.#retired.delete(lane);
  }

  replaceSoon(lane: Lane): void {
    setTimeout(() => void this.replace(lane), RETRY_MS).unref();
  }
}
