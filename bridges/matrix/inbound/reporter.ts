import { setTimeout as sleep } from "node:timers/promises";
import { dmChannel, type Bridge } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import type { Background } from "../background";
import { toChatId } from "../chat/chat-id";
import { toNotice } from "../chat/content";
import type { MatrixEvent } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";
import { isRejected } from "../client/matrix-error";
import { shortId, type Ids } from "../ids";
import type { Names } from "./names";
import { isStale, type MemberAct } from "./read-event";

export interface ReporterParts {
  readonly bridge: Pick<Bridge, "command" | "action" | "message" | "shown">;
  readonly api: Pick<MatrixApi, "send" | "redact">;
  readonly names: Names;
  readonly ids: Ids;
  readonly background: Background;
  readonly log: Logger;
  /** Aborted when the bridge stops. */
  readonly signal: AbortSignal;
}

/** An event of a member in a room, and the meaning of the event. */
export interface MemberReport {
  readonly roomId: string;
  /** The other member of a direct room; undefined for other rooms. */
  readonly directMember: string | undefined;
  readonly event: MatrixEvent;
  readonly act: MemberAct;
}

/**
 * Wait before the bridge repeats a failed report, ms. A report fails only after the kit has retried it for a minute.
 */
const REPEAT_MS = 1_000;
/** Minimum milliseconds between two hints in a room. */
const HINT_EVERY_MS = 5_000;
const ROOMS_NOTED = 1_000;

/** Reports members' events to the service, and shows hints and problems to these members in the room. */
export class Reporter {
  readonly #parts: ReporterParts;
  /** Rooms in which the bridge is not allowed to remove reactions. */
  readonly #powerless = new Set<string>();
  readonly #hintedAt = new Map<string, number>();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once the service has accepted the report, or once the report is dropped. Rejects only when the bridge
   * stops.
   */
  async report(report: MemberReport): Promise<void> {
    const { log, signal } = this.#parts;
    const { roomId, event, act } = report;
    if (act.type === "hint") return this.#hint(roomId, event.event_id, act.text);
    for (;;) {
      // When the bridge stops, the position of the sync is not saved, so the next run reports the event again.
      signal.throwIfAborted();
      const result = await this.#send(report, act);
      if (result.outcome !== "given-up") break;
      signal.throwIfAborted();
      if (act.type === "command" && isStale(event, Date.now())) {
        log.warn({ eventId: event.event_id }, "dropped a command: the service was unreachable for 5 minutes");
        break;
      }
      await sleep(REPEAT_MS, undefined, { signal });
    }
    if (act.type === "action" && act.byReaction) this.#takeBack(roomId, event.event_id);
  }

  /** Called when the power levels of a room changed, because the bridge may now be allowed to remove reactions. */
  powersChanged(roomId: string): void {
    this.#powerless.delete(roomId);
  }

  async #send({ roomId, directMember, event }: MemberReport, act: Exclude<MemberAct, { type: "hint" }>) {
    const { bridge, names, ids } = this.#parts;
    const [name, roomName] = await Promise.all([
      names.ofMember(roomId, event.sender),
      directMember === undefined ? names.ofRoom(roomId) : undefined,
    ]);
    const user = { id: ids.toService(event.sender), name };
    const room = { id: ids.toService(roomId), ...(roomName !== undefined && { name: roomName }) };
    const channel = directMember === undefined ? room : dmChannel(user.id);
    const id = shortId(event.event_id);
    switch (act.type) {
      case "command":
        return bridge.command({ channel: room, user, text: act.text, id });
      case "action":
        return bridge.action({ chatMessageId: toChatId(roomId, act.target), user, action: act.action, id });
      case "message": {
        if (act.replyTo === undefined) return bridge.message({ channel, user, text: act.text, id });
        const replyTo = toChatId(roomId, act.replyTo);
        // A prompt for one member of a room is shown in the direct room, but the answer belongs to the room.
        const asked = bridge.shown(replyTo);
        return bridge.message({ channel: asked?.channel ?? channel, user, text: act.text, replyTo, id });
      }
    }
  }

  /**
   * Removes the reaction of a member, so that the member can press the button again, and other members do not see the
   * answer.
   */
  #takeBack(roomId: string, eventId: string): void {
    const { api, background, log } = this.#parts;
    if (this.#powerless.has(roomId)) return;
    background.add(`take back ${eventId}`, async (stopped) => {
      try {
        await api.redact(roomId, eventId, `${eventId}.back`, stopped);
      } catch (error) {
        if (!isRejected(error, "M_FORBIDDEN")) throw error;
        if (this.#powerless.size < ROOMS_NOTED) this.#powerless.add(roomId);
        log.info({ roomId }, "cannot take back reactions: give the bridge's account the power to redact");
      }
    });
  }

  #hint(roomId: string, eventId: string, text: string): void {
    const { api, background } = this.#parts;
    const now = performance.now();
    if (now - (this.#hintedAt.get(roomId) ?? -Infinity) < HINT_EVERY_MS) return;
    if (this.#hintedAt.size >= ROOMS_NOTED) this.#hintedAt.clear();
    this.#hintedAt.set(roomId, now);
    const content = { ...toNotice(text), "m.relates_to": { "m.in_reply_to": { event_id: eventId } } };
    background.add(`hint ${eventId}`, async (stopped) => {
      await api.send(roomId, "m.room.message", `${eventId}.hint`, content, stopped);
    });
  }
}
