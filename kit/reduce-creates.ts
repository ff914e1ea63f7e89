import type { DmCreate, MessageCreate } from "./events";
import { drop, freshUntilMs, retryAtMs, settle, wakeBy, type Draft } from "./reduce-draft";
import { recall, remember } from "./reduce-memory";
import { placeOf } from "./reduce-places";
import { NEVER_STALE_TRY_MS } from "./reduce-state";

/** Returns whether a create of the same message is pending, posted or dropped, even under a different event id. */
export function isKnownCreate(draft: Draft, { message }: MessageCreate | DmCreate): boolean {
  return (
    recall(draft.messages, message.id) !== undefined ||
    draft.creates.some(({ event }) => event.message.id === message.id)
  );
}

export function takeCreate(draft: Draft, event: MessageCreate | DmCreate): void {
  const untilMs = Math.min(freshUntilMs(event), draft.nowMs + NEVER_STALE_TRY_MS);
  const create = { event, untilMs, isPosting: false, refusals: 0, retryAtMs: draft.nowMs };
  draft.creates = [...draft.creates, create].toSorted((a, b) => a.event.sequence - b.event.sequence);
}

export function notePosted(draft: Draft, eventId: string, chatMessageId: string): void {
  const create = draft.creates.find(({ event }) => event.id === eventId);
  if (create === undefined) return;
  draft.creates = draft.creates.filter((each) => each !== create);
  draft.messages = remember(draft.messages, create.event.message.id, { chatMessageId, applied: 0 });
  settle(draft, create.event);
}

export function noteRefusedCreate(draft: Draft, eventId: string, retryAfterMs: number): void {
  draft.creates = draft.creates.map((create) => {
    if (create.event.id !== eventId) return create;
    const refusals = create.refusals + 1;
    return { ...create, isPosting: false, refusals, retryAtMs: retryAtMs(draft, refusals, retryAfterMs) };
  });
}

/** Drops an expired create, and marks its message as dropped, so that the message's updates are dropped too. */
export function dropCreate(draft: Draft, event: MessageCreate | DmCreate): void {
  draft.messages = remember(draft.messages, event.message.id, "dropped");
  drop(draft, event, "expired");
}

/** Drops expired creates. In each channel or DM, starts the next create if it is due. */
export function advanceCreates(draft: Draft): void {
  for (const create of draft.creates) {
    if (create.isPosting) continue;
    if (draft.nowMs <= create.untilMs) {
      wakeBy(draft, create.untilMs + 1);
    } else {
      draft.creates = draft.creates.filter((each) => each !== create);
      dropCreate(draft, create.event);
    }
  }
  const busy = new Set(draft.creates.filter(({ isPosting }) => isPosting).map(({ event }) => placeOf(event)));
  draft.creates = draft.creates.map((create) => {
    const place = placeOf(create.event);
    if (busy.has(place)) return create;
    busy.add(place);
    if (draft.nowMs < create.retryAtMs) {
      wakeBy(draft, create.retryAtMs);
      return create;
    }
    const { event } = create;
    draft.toDo.push(event.type === "dm.create" ? { type: "dm", event } : { type: "post", event });
    return { ...create, isPosting: true };
  });
}
