import { isExpired, type MessageUpdate } from "./events";
import { drop, freshUntilMs, settle, wakeBy, type Draft } from "./reduce-draft";
import type { SkipReason } from "./reduce-effect";
import { recall, remember } from "./reduce-memory";
import { HOLD_MS, type OpenUpdate } from "./reduce-state";

/** Returns whether an update with the same event id already waits or is being applied. */
export function isKnownUpdate(draft: Draft, { id, message }: MessageUpdate): boolean {
  const open = draft.updates.get(message.id);
  return open?.next?.event.id === id || open?.editing?.event.id === id;
}

export function takeUpdate(draft: Draft, event: MessageUpdate): void {
  const messageId = event.message.id;
  const fate = recall(draft.messages, messageId);
  if (fate === "dropped") {
    drop(draft, event, "create-dropped");
    return;
  }
  const open = draft.updates.get(messageId);
  const newest = Math.max(
    fate?.applied ?? 0,
    open?.editing?.event.sequence ?? 0,
    open?.next?.event.sequence ?? 0,
  );
  if (event.sequence <= newest) {
    drop(draft, event, "superseded");
    return;
  }
  if (open?.next !== undefined) drop(draft, open.next.event, "superseded");
  put(draft, messageId, {
    editing: open?.editing,
    next: { event, holdUntilMs: draft.nowMs + HOLD_MS },
  });
}

/** Records that the chat accepted or refused an edit. */
export function noteEdit(draft: Draft, eventId: string, outcome: "done" | "refused"): void {
  for (const [messageId, { editing, next }] of draft.updates) {
    if (editing?.event.id !== eventId) continue;
    const { event, chatMessageId } = editing;
    if (outcome === "refused") {
      drop(draft, event, "refused");
    } else {
      settle(draft, event);
      draft.messages = remember(draft.messages, messageId, { chatMessageId, applied: event.sequence });
    }
    put(draft, messageId, { editing: undefined, next });
  }
}

/** Drops the updates that can no longer be applied, and starts those that can be applied now. */
export function advanceUpdates(draft: Draft): void {
  const awaited = new Set(draft.creates.map(({ event }) => event.message.id));
  for (const [messageId, { editing, next }] of draft.updates) {
    if (next === undefined) continue;
    const { event, holdUntilMs } = next;
    const fate = recall(draft.messages, messageId);
    const isUnmapped = fate === undefined && editing === undefined && !awaited.has(messageId);
    const reason = reasonToDrop();
    if (reason !== undefined) {
      drop(draft, event, reason);
      put(draft, messageId, { editing, next: undefined });
    } else if (fate !== undefined && fate !== "dropped" && editing === undefined) {
      const { chatMessageId } = fate;
      draft.toDo.push({ type: "edit", event, chatMessageId });
      put(draft, messageId, { editing: { event, chatMessageId }, next: undefined });
    } else {
      if (isUnmapped) wakeBy(draft, holdUntilMs);
      wakeBy(draft, freshUntilMs(event) + 1);
    }

    function reasonToDrop(): SkipReason | undefined {
      if (isExpired(event, draft.nowMs)) return "expired";
      if (fate === "dropped") return "create-dropped";
      return isUnmapped && holdUntilMs <= draft.nowMs ? "unmapped" : undefined;
    }
  }
}

function put(draft: Draft, messageId: string, open: OpenUpdate): void {
  if (open.editing === undefined && open.next === undefined) draft.updates.delete(messageId);
  else draft.updates.set(messageId, open);
}
