import { SHORT_LIFETIME_MS } from "../contract/numbers";
import type { MessageEphemeral } from "./events";
import { drop, freshUntilMs, retryAtMs, settle, wakeBy, type Draft } from "./reduce-draft";

export function takeEphemeral(draft: Draft, event: MessageEphemeral): void {
  const untilMs = Math.min(freshUntilMs(event), draft.nowMs + SHORT_LIFETIME_MS);
  draft.ephemerals.set(event.id, { event, untilMs, isShowing: false, refusals: 0, retryAtMs: draft.nowMs });
}

export function noteShown(draft: Draft, eventId: string): void {
  const open = draft.ephemerals.get(eventId);
  if (open === undefined) return;
  draft.ephemerals.delete(eventId);
  settle(draft, open.event);
}

export function noteRefusedEphemeral(draft: Draft, eventId: string, retryAfterMs: number): void {
  const open = draft.ephemerals.get(eventId);
  if (open === undefined) return;
  const refusals = open.refusals + 1;
  const next = { refusals, isShowing: false, retryAtMs: retryAtMs(draft, refusals, retryAfterMs) };
  draft.ephemerals.set(eventId, { ...open, ...next });
}

/** Drops expired ephemerals, and starts to show those that are due. Ephemerals never wait for each other. */
export function advanceEphemerals(draft: Draft): void {
  for (const [eventId, open] of draft.ephemerals) {
    if (open.isShowing) continue;
    if (draft.nowMs > open.untilMs) {
      draft.ephemerals.delete(eventId);
      drop(draft, open.event, "expired");
    } else if (draft.nowMs < open.retryAtMs) {
      wakeBy(draft, Math.min(open.retryAtMs, open.untilMs + 1));
    } else {
      draft.toDo.push({ type: "ephemeral", event: open.event });
      draft.ephemerals.set(eventId, { ...open, isShowing: true });
    }
  }
}
