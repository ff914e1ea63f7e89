import { isExpired, type OutboundEvent } from "./events";
import {
  advanceCreates,
  dropCreate,
  isKnownCreate,
  notePosted,
  noteRefusedCreate,
  takeCreate,
} from "./reduce-creates";
import { closeDraft, drop, openDraft, type Draft, type Reduced } from "./reduce-draft";
import type { BridgeInput } from "./reduce-effect";
import { advanceEphemerals, noteRefusedEphemeral, noteShown, takeEphemeral } from "./reduce-ephemerals";
import { recall } from "./reduce-memory";
import { isBehindSkipped, isPlaceFull, placeOf, skipKeys } from "./reduce-places";
import type { BridgeState } from "./reduce-state";
import { advanceUpdates, isKnownUpdate, noteEdit, takeUpdate } from "./reduce-updates";

/**
 * Applies the bridge's rules for events that arrive by push or by poll (bridge guide, "Rules for events"). `reduce` is
 * a pure function, without a clock or I/O. The rules are:
 *
 * - An event with a repeated id is skipped. An event past its `expiresAt` is also
 *   skipped, even if it expires while it waits.
 * - A create that the chat refuses is retried, with growing waits, until it succeeds
 *   or expires. Meanwhile, later creates of the same channel or DM wait, but creates elsewhere do not. A
 *   poller's cursor must not move past the create: see `isSettled`.
 * - Updates of a message are applied one at a time. Only the newest waiting update is
 *   applied, and only if it is newer than the last applied update.
 * - If an update arrives before its create, the update waits for the create. If the
 *   create does not arrive within 5 seconds, the update is skipped. An update whose
 *   create was dropped is also skipped.
 * - An update that the chat refuses is skipped. An ephemeral that the chat refuses is retried, with growing waits,
 *   until it succeeds or expires, or 60 seconds have passed.
 *
 * Never throws. Ignores the chat's answer about an event that is not pending.
 */
export function reduce(state: BridgeState, input: BridgeInput): Reduced {
  const draft = openDraft(state, input.nowMs, input.type === "events" ? input.skipped : undefined);
  switch (input.type) {
    case "events":
      if (input.gap === true) draft.toDo.push({ type: "missed" });
      for (const event of input.events) take(draft, event);
      break;
    case "posted":
      notePosted(draft, input.eventId, input.chatMessageId);
      break;
    case "done":
      noteEdit(draft, input.eventId, "done");
      noteShown(draft, input.eventId);
      break;
    case "refused":
      noteRefusedCreate(draft, input.eventId, input.retryAfterMs ?? 0);
      noteEdit(draft, input.eventId, "refused");
      noteRefusedEphemeral(draft, input.eventId, input.retryAfterMs ?? 0);
      break;
    case "time":
      break;
  }
  advanceCreates(draft);
  advanceUpdates(draft);
  advanceEphemerals(draft);
  return closeDraft(draft);
}

function take(draft: Draft, event: OutboundEvent): void {
  if (isKnown(draft, event)) draft.skips.push({ type: "skip", event, reason: "duplicate" });
  else if (isExpired(event, draft.nowMs)) takeExpired(draft, event);
  else if (isFullFor(draft, event)) skipAsFull(draft, event);
  else takeFresh(draft, event);
}

/** Skips an event without marking it as completed, so the event can be redelivered. */
function skipAsFull(draft: Draft, event: OutboundEvent): void {
  draft.skips.push({ type: "skip", event, reason: "full" });
  for (const key of skipKeys(event)) draft.full.add(key);
}

function isKnown(draft: Draft, event: OutboundEvent): boolean {
  if (recall(draft.settled, event.id) !== undefined) return true;
  switch (event.type) {
    case "message.create":
    case "dm.create":
      return isKnownCreate(draft, event);
    case "message.update":
      return isKnownUpdate(draft, event);
    case "message.ephemeral":
      return draft.ephemerals.has(event.id);
    case "ping":
      return false;
  }
}

function takeExpired(draft: Draft, event: OutboundEvent): void {
  if (event.type === "message.create" || event.type === "dm.create") dropCreate(draft, event);
  else drop(draft, event, "expired");
}

/**
 * Returns whether there is no room for an event, in total or in its place. There is always room for an update if another
 * update of its message is pending.
 */
function isFullFor(draft: Draft, event: OutboundEvent): boolean {
  if (event.type === "ping") return false;
  if (event.type === "message.update" && draft.updates.has(event.message.id)) return false;
  return isBehindSkipped(draft.full, event) || isPlaceFull(draft, placeOf(event));
}

function takeFresh(draft: Draft, event: OutboundEvent): void {
  switch (event.type) {
    case "message.create":
    case "dm.create":
      takeCreate(draft, event);
      break;
    case "message.update":
      takeUpdate(draft, event);
      break;
    case "message.ephemeral":
      takeEphemeral(draft, event);
      break;
    case "ping":
      drop(draft, event, "ping");
      break;
  }
}
