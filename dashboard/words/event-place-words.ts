import { LOGGED_SECONDS } from "../../contract/deliveries";
import type { EventPlaceName, EventShape } from "../../proto/json/shapes";
import type { Tone } from "./health-words";
import { whyNoEvents } from "./send-again-words";

interface PlaceWords {
  readonly tone: Tone;
  readonly label: string;
  readonly sentence: string;
}

const PLACES: Readonly<Record<EventPlaceName, PlaceWords>> = {
  held: {
    tone: "idle",
    label: "Held",
    sentence: "The event waits for the bridge's next poll.",
  },
  fetched: {
    tone: "good",
    label: "Fetched",
    sentence: "A poll has returned the event, and the bridge has gone on to later events.",
  },
  queued: {
    tone: "idle",
    label: "Queued",
    sentence: "The event waits for its next attempt.",
  },
  delivered: { tone: "good", label: "Accepted", sentence: "The bridge has accepted the event." },
  failed: { tone: "bad", label: "Failed", sentence: "The last attempt has failed." },
  dropped: { tone: "warn", label: "Dropped", sentence: "The event was dropped without a further attempt." },
  unknown: { tone: "idle", label: "Not known", sentence: "Where the event is now is not known." },
};

/** Says where an event is. */
export function placeWords(place: EventPlaceName): PlaceWords {
  return PLACES[place];
}

/** Says why the service does not have an event any more; undefined if it has the event. */
export function whyGone({ event, place, attempts }: EventShape): string | undefined {
  if (event !== null) return undefined;
  const last = attempts.at(-1)?.delivery;
  if (last !== undefined) return whyNoEvents(last);
  return place === "fetched"
    ? "The event is no longer held. The service holds an event for 24 hours."
    : "The service no longer has the event.";
}

/** Returns the time until which the log keeps the event's last attempt; undefined if there was no attempt. */
export function loggedUntil({ attempts }: EventShape): string | undefined {
  const last = attempts.at(-1)?.delivery;
  if (last === undefined) return undefined;
  return new Date(Date.parse(last.lastAt ?? last.at) + LOGGED_SECONDS * 1_000).toISOString();
}
