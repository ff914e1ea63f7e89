import { setTimeout as sleep } from "node:timers/promises";
import type { EventHead, Message } from "../../events";
import { Broken } from "../rule";
import { quoted, type EventMaker } from "./event-maker";
import type { ObservedChat } from "./observed-chat";

/** A bridge that is being checked, with helpers for the rules about events. These rules hold for pushes and for polls. */
export interface EventTarget {
  readonly make: EventMaker;
  /** The observed chat; undefined without an observation endpoint, or after the endpoint has failed. */
  readonly chat: ObservedChat | undefined;
  /** Whether the user of the check gave the channel or the user of the events. */
  readonly isPlaceGiven: boolean;
  /** Stops checking the messages that the chat shows. */
  unobserve(): void;
  /** Delivers an event to the bridge, and throws Broken unless the bridge accepts the event in time. */
  taken(event: EventHead, what: string): Promise<unknown>;
  /** Waits until the bridge has shown all events that it accepted so far. */
  settled(chat: ObservedChat): Promise<void>;
  /** Waits as `settled` does, and throws Broken if any of `messages` is shown. */
  hides(chat: ObservedChat, messages: readonly Message[], why: string): Promise<void>;
  /** Reports that the check waits for `what`, and waits `ms` milliseconds. */
  pause(ms: number, what: string): Promise<void>;
}

/** Time for a bridge to finish earlier events after a later message is shown, ms. */
const GRACE_MS = 300;

/** Returns an EventTarget that delivers events with `taken`. */
export function createEventTarget(options: {
  readonly make: EventMaker;
  readonly chat: ObservedChat | undefined;
  readonly isPlaceGiven: boolean;
  readonly taken: EventTarget["taken"];
  readonly onWait: (what: string) => void;
}): EventTarget {
  const { make, isPlaceGiven, taken, onWait } = options;
  let { chat } = options;

  async function settled(observed: ObservedChat): Promise<void> {
    const marker = make.create("a marker after all earlier events");
    await taken(marker, "a create");
    await observed.shows(marker);
    await sleep(GRACE_MS);
  }

  return {
    make,
    get chat() {
      return chat;
    },
    isPlaceGiven,
    unobserve: () => void (chat = undefined),
    taken,
    settled,
    async hides(observed, messages, why) {
      await settled(observed);
      for (const message of messages) {
        if ((await observed.countOf(message)) > 0)
          throw new Broken(`${quoted(message)} is shown, although ${why}`);
      }
    },
    async pause(ms, what) {
      onWait(what);
      await sleep(ms);
    },
  };
}
