import { setTimeout as sleep } from "node:timers/promises";
import type { Message, MessageUpdate, OutboundEvent } from "../../../events";
import type { MemoryChat } from "./memory-chat";

/** The steps in which a correct bridge shows events. Each broken bridge changes some of these steps. */
export const CORRECT_SHOW = {
  isDeduping: true,
  isExpired: ({ expiresAt }: OutboundEvent) => expiresAt !== null && Date.parse(expiresAt) < Date.now(),
  /** Milliseconds that the chat needs for an edit. */
  editMs: 0,
  isOutdated: (sequence: number, applied: number) => sequence < applied,
  holdMs: 5_000,
  /** Whether an update edits its message. If false, the update is posted as a new message. */
  editsInPlace: true,
  shows: (_event: OutboundEvent) => true,
  /** Returns the channel in which the chat shows a message. */
  placeOf: (channel: string) => channel,
  /** Returns the only member who sees a message; undefined if everybody in the channel sees it. */
  onlyFor: (event: OutboundEvent) => (event.type === "message.ephemeral" ? event.user : undefined),
  /**
   * Returns the message in the form in which the chat shows it. For an update, `_before` is the message that the update
   * replaces.
   */
  draws: (message: Message, _before?: Message) => message,
};

type ShowSteps = Omit<typeof CORRECT_SHOW, "onlyFor"> & { onlyFor(event: OutboundEvent): string | undefined };
export type ShowChange = Partial<ShowSteps>;

/** Shows events without the kit. `take` returns false for a repeated event. */
export function createPlainShow(steps: ShowSteps, chat: MemoryChat) {
  const seen = new Set<string>();
  const posted = new Map<string, { readonly chatId: string; applied: number; shown: Message }>();
  const held = new Map<string, { readonly update: MessageUpdate; readonly untilMs: number }[]>();
  let work = Promise.resolve();

  async function show(event: OutboundEvent): Promise<void> {
    if (event.type === "ping" || steps.isExpired(event) || !steps.shows(event)) return;
    if (event.type === "message.update") return update(event);
    const message = steps.draws(event.message);
    const to = steps.onlyFor(event);
    if (event.type === "message.ephemeral") return void chat.post(steps.placeOf(event.channel), message, to);
    const channel = event.type === "dm.create" ? `dm:${event.user}` : event.channel;
    posted.set(message.id, {
      chatId: chat.post(steps.placeOf(channel), message, to),
      applied: 0,
      shown: message,
    });
    for (const { update: each, untilMs } of held.get(message.id) ?? []) {
      if (untilMs > Date.now()) await update(each);
    }
    held.delete(message.id);
  }

  async function update(event: MessageUpdate): Promise<void> {
    const { sequence } = event;
    const of = posted.get(event.message.id);
    if (of === undefined) {
      const waiting = { update: event, untilMs: Date.now() + steps.holdMs };
      held.set(event.message.id, [...(held.get(event.message.id) ?? []), waiting]);
      return;
    }
    await sleep(steps.editMs);
    if (steps.isOutdated(sequence, of.applied)) return;
    of.applied = sequence;
    const message = steps.draws(event.message, of.shown);
    of.shown = message;
    if (steps.editsInPlace) chat.edit(of.chatId, message);
    else chat.post(event.channel, message);
  }

  return {
    take(event: OutboundEvent): boolean {
      if (steps.isDeduping && seen.has(event.id)) return false;
      seen.add(event.id);
      work = work.then(() => show(event));
      return true;
    },
    /** Resolves when all events so far are shown. */
    done: () => work,
  };
}
