import type { DmCreate, MessageCreate } from "../../events";
import type { EventTarget } from "./event-target";

/** Creates a message for later updates. If the bridge has an observation endpoint, waits until the message is shown. */
export async function createdFirst<Event extends MessageCreate | DmCreate>(
  { taken, chat }: EventTarget,
  event: Event,
): Promise<Event> {
  await taken(event, `a ${event.type}`);
  await chat?.shows(event);
  return event;
}
