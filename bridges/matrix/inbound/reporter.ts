import { setTimeout as sleep } from "node:timers/promises";
import { dmChannel, type Bridge } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import type { Background } from "../background";
import { toChatId } from "../chat/chat-id";
import { toNotice } from "../chat/content";
import { relationOf, type MatrixEvent } from "../client/events";
import type { MatrixApi } from "../client/matrix-api";
import { isRejected } from "../client/matrix-error";
import { shortId, type Ids } from "../ids";
import type { DirectHelp } from "./direct-help";
import { NOT_IN_DIRECT_ROOMS } from "./hints";
import type { Names } from "./names";
import { isStale, type MemberAct } from "./read-event";

export interface ReporterParts {
  readonly bridge: Pick<Bridge, "command" | "action" | "message" | "shown">;
  readonly api: Pick<MatrixApi, "send" | "redact">;
  readonly names: Names;
  readonly ids: Ids;
  readonly background: Background;
  readonly directHelp: DirectHelp;
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
  /** Whether the event is a text in a direct room, where no message waits for a text: see `isUnasked`. */
  readonly isUnasked?: boolean;
}

/**
 * Wait before the bridge repeats a failed report, ms. A report fails only after the kit has retried it for a minute.
 */
const REPEAT_MS = 1_000;
/** Minimum milliseconds between two hints in a room. */
const HINT_EVERY_MS = 5_000;
const ROOMS_NOTED = 1_000;
/** Maximum number of hints that are remembered, so that they are not repeated. */
const HINTS_NOTED = 5_000;
const NO_QUESTION = "No question is waiting for an answer here.";

/** Reports members' events to the service, and shows hints and problems to these members in the room. */
export class Reporter {
  readonly #parts: ReporterParts;
  /** Rooms in which the bridge is not allowed to remove reactions. */
  readonly #powerless = new Set<string>();
  readonly #hintedAt = new Map<string, number>();
  readonly #hinted = new LRUCache<string, true>({ max: HINTS_NOTED });

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once the service has accepted the report, or once the report is dropped. Rejects only when the bridge
   * stops.
   */
  async report(report: MemberReport): Promise<void> {
    const { directHelp, log, signal } = this.#parts;
    const { roomId, event, act, isUnasked = false } = report;
    if (act.type === "hint") return this.#hint(roomId, event, act);
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
    if (act.type === "action" && act.byReaction) this.#removeReaction(roomId, event.event_id);
    if (isUnasked) directHelp.explain(roomId, event.sender, event.event_id, NO_QUESTION);
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
  #removeReaction(roomId: string, eventId: string): void {
    const { api, background, log } = this.#parts;
    if (this.#powerless.has(roomId)) return;
    background.add(roomId, `remove ${eventId}`, async (stopped) => {
      try {
        await api.redact(roomId, eventId, `${eventId}.back`, stopped);
      } catch (error) {
        if (!isRejected(error, "M_FORBIDDEN")) throw error;
        if (this.#powerless.size < ROOMS_NOTED) this.#powerless.add(roomId);
        log.info({ roomId }, "cannot remove reactions: give the bridge's account the power to redact");
      }
    });
  }

  #hint(roomId: string, event: MatrixEvent, { text, topic }: Extract<MemberAct, { type: "hint" }>): void {
    const { api, background, directHelp } = this.#parts;
    const { event_id: eventId, sender } = event;
    if (text === NOT_IN_DIRECT_ROOMS) return directHelp.explain(roomId, sender, eventId, text);
    const hint = `${topic} ${roomId} ${sender}`;
    if (topic !== undefined && this.#hinted.has(hint)) return;
    const now = performance.now();
    if (now - (this.#hintedAt.get(roomId) ?? -Infinity) < HINT_EVERY_MS) return;
    if (this.#hintedAt.size >= ROOMS_NOTED) this.#hintedAt.clear();
    this.#hintedAt.set(roomId, now);
    if (topic !== undefined) this.#hinted.set(hint, true);
    // Clients cannot show a reply to a reaction or to an edit, so the hint replies to the message itself.
    const { type, target } = relationOf(event);
    const repliedTo = type === "m.annotation" || type === "m.replace" ? target : eventId;
    const content = { ...toNotice(text), "m.relates_to": { "m.in_reply_to": { event_id: repliedTo } } };
    background.add(roomId, `hint ${eventId}`, async (stopped) => {
      await api.send(roomId, "m.room.message", `${eventId}.hint`, content, stopped);
    });
  }
}
