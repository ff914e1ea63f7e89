import type { Message } from "chat-bridge-kit";
import { LRUCache } from "lru-cache";
import { choicesOf } from "../text/choices-line";
import type { Closing } from "./find-choices";

const CHANNELS_MAX = 1_000;
/** Milliseconds after choices were replaced, during which members may still type a number for the old choices. */
const JUST_CLOSED_MS = 15_000;

/**
 * The last replacement of choices in each channel. Printing takes seconds, so members can type a number just after the
 * choices that they saw were replaced.
 */
export class Closings {
  readonly #closings = new LRUCache<string, Closing>({ max: CHANNELS_MAX });

  /**
   * Called when a newer version of a message arrives. `before` is the version that members see; undefined if they see
   * none.
   */
  note(channel: string, message: Message, before: Message | undefined): void {
    if (before === undefined || isSubset(before, message)) return;
    const atMs = Date.now();
    this.#closings.set(channel, { messageId: message.id, atMs, untilMs: atMs + JUST_CLOSED_MS });
  }

  /** Returns the last replacement of choices in a channel; undefined if it is not recent. */
  just(channel: string): Closing | undefined {
    const closing = this.#closings.get(channel);
    return closing !== undefined && closing.untilMs > Date.now() ? closing : undefined;
  }
}

/** Whether another message contains each choice of a message, under the same number. */
function isSubset(one: Message, other: Message): boolean {
  const others = choicesOf(other.buttons);
  return choicesOf(one.buttons).every(({ action }, i) => others[i]?.action === action);
}
