import { setTimeout as sleep } from "node:timers/promises";
import { dmChannel, type Bridge, type ShownMessage } from "chat-bridge-kit";
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

export interface Reporter {
  /**
   * Resolves once the service has accepted the report, or once the report is dropped. Rejects only when the bridge
   * stops.
   */
  report(report: MemberReport): Promise<void>;
  /** Called when the power levels of a room changed, because the bridge may now be allowed to remove reactions. */
  powersChanged(roomId: string): void;
}

/** Wait before a report is repeated, ms. The kit has already retried for a minute. */
const REPEAT_MS = 1_000;
/** Minimum milliseconds between two hints in a room. */
const HINT_EVERY_MS = 5_000;
const ROOMS_NOTED = 1_000;

export function createReporter(parts: ReporterParts): Reporter {
  const { bridge, api, names, ids, background, log, signal } = parts;
  /** Rooms in which the bridge is not allowed to remove reactions. */
  const powerless = new Set<string>();
  const hintedAt = new Map<string, number>();

  async function send({ roomId, directMember, event, act }: MemberReport) {
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
        const asked: ShownMessage | undefined = bridge.shown(replyTo);
        return bridge.message({ channel: asked?.channel ?? channel, user, text: act.text, replyTo, id });
      }
      case "hint":
        return undefined;
    }
  }

  /**
   * Removes the reaction of a member, so that the member can press the button again, and other members do not see the
   * answer.
   */
  function takeBack(roomId: string, eventId: string): void {
    if (powerless.has(roomId)) return;
    background.add(`take back ${eventId}`, async (stopped) => {
      try {
        await api.redact(roomId, eventId, `${eventId}.back`, stopped);
      } catch (error) {
        if (!isRejected(error, "M_FORBIDDEN")) throw error;
        if (powerless.size < ROOMS_NOTED) powerless.add(roomId);
        log.info({ roomId }, "cannot take back reactions: give the bridge's account the power to redact");
      }
    });
  }

  function hint(roomId: string, eventId: string, text: string): void {
    const now = performance.now();
    if (now - (hintedAt.get(roomId) ?? -Infinity) < HINT_EVERY_MS) return;
    if (hintedAt.size >= ROOMS_NOTED) hintedAt.clear();
    hintedAt.set(roomId, now);
    const content = { ...toNotice(text), "m.relates_to": { "m.in_reply_to": { event_id: eventId } } };
    background.add(`hint ${eventId}`, async (stopped) => {
      await api.send(roomId, "m.room.message", `${eventId}.hint`, content, stopped);
    });
  }

  return {
    async report(report) {
      const { roomId, event, act } = report;
      if (act.type === "hint") return hint(roomId, event.event_id, act.text);
      for (;;) {
        // When the bridge stops, the position of the sync is not saved, so the next run reports the event again.
        signal.throwIfAborted();
        const result = await send(report);
        if (result?.outcome !== "given-up") break;
        signal.throwIfAborted();
        if (act.type === "command" && isStale(event, Date.now())) {
          log.warn(
            { eventId: event.event_id },
            "dropped a command: the service was unreachable for 5 minutes",
          );
          break;
        }
        await sleep(REPEAT_MS, undefined, { signal });
      }
      if (act.type === "action" && act.byReaction) takeBack(roomId, event.event_id);
    },
    powersChanged: (roomId) => void powerless.delete(roomId),
  };
}
