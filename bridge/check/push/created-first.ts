import type { DmCreate, MessageCreate } from "../../events";
import type { PushTarget } from "./push-target";

/** Has a message created, and shown where that can be seen, so that updates find it. */
export async function createdFirst<Event extends MessageCreate | DmCreate>(
  { taken, chat }: PushTarget,
  event: Event,
): Promise<Event> {
  await taken(event, `a ${event.type}`);
  await chat?.shows(event);
  return event;
}
