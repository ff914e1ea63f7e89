import type { DmCreate, MessageCreate, MessageEphemeral, MessageUpdate } from "../../events";
import { isObject } from "../../read-event";
import { Broken } from "../rule";
import { channelOf, quoted } from "./event-maker";

/**
 * A message that the chat shows, as the bridge's observation endpoint lists it. An endpoint may omit the optional
 * fields. Once the endpoint has given `buttons` or `image` for one message, the check compares that field in all
 * messages. Null means no buttons, no image, or no single recipient.
 */
export interface ShownMessage {
  /** The chat's id of the channel, or `dm:<user id>`. */
  readonly channel: string;
  readonly text: string;
  /** Id of the only member who sees the message. */
  readonly to?: string | null;
  /** Labels of the buttons of all rows, in order. */
  readonly buttons?: readonly string[] | null;
  /** The URI from the event, even if the chat keeps a copy of the image. */
  readonly image?: string | null;
}

/** Format of an observation endpoint's answer. */
const FORM = '{"messages":[{"channel":"…","text":"…"},…]}';

const isText = (value: unknown) => typeof value === "string";
const isAbsent = (value: unknown) => value === undefined || value === null;

const OPTIONAL: Readonly<Record<string, readonly [is: (value: unknown) => boolean, says: string]>> = {
  to: [isText, "is neither a user's id nor null"],
  buttons: [(value) => Array.isArray(value) && value.every(isText), "is not a list of labels"],
  image: [isText, "is neither a URI nor null"],
};

/** Reads an observation endpoint's answer. `fault` is a predicate without a subject, such as "did not answer with …". */
export function readShown(json: unknown): readonly ShownMessage[] | { readonly fault: string } {
  const messages: unknown = isObject(json) ? json["messages"] : undefined;
  if (!Array.isArray(messages)) return { fault: `did not answer with ${FORM}` };
  for (const message of messages as readonly unknown[]) {
    if (!isObject(message) || !isText(message["channel"]) || !isText(message["text"])) {
      return { fault: `did not answer with ${FORM}` };
    }
    for (const [name, [is, says]] of Object.entries(OPTIONAL)) {
      const value = message[name];
      if (!isAbsent(value) && !is(value)) return { fault: `answered with a message whose "${name}" ${says}` };
    }
  }
  return messages as readonly ShownMessage[];
}

/** An event that a chat shows. */
export type ShownEvent = MessageCreate | MessageUpdate | MessageEphemeral | DmCreate;

/** For each optional field: whether the observation endpoint has given the field for at least one message so far. */
export interface Listed {
  readonly buttons: boolean;
  readonly image: boolean;
}

const TO_MENDS: Readonly<Record<ShownEvent["type"], string>> = {
  "message.create": "post a message.create for everybody in its channel",
  "message.update": "edit the message in place, for everybody who saw it before",
  "message.ephemeral": "show a message.ephemeral to its `user` alone, never to another member",
  "dm.create": "post a dm.create in the direct conversation with its `user`",
};

/** Throws Broken when a message is not shown in the channel and to the members that the event requires. */
export function judgePlace({ channel, to = null }: ShownMessage, event: ShownEvent): void {
  const text = quoted(event.message);
  const places = placesOf(event);
  if (!places.includes(channel)) {
    throw new Broken(`${text} is shown in ${channel}, not in ${places.join(" or ")}`);
  }
  // If a chat cannot show a message to a single member, everybody may see an ephemeral message.
  if (to === null || to === memberOf(event)) return;
  const wanted = memberOf(event) ?? "everybody";
  throw new Broken(
    `${text} is shown in ${channel} to ${JSON.stringify(to)} alone, not to ${wanted}`,
    `${TO_MENDS[event.type]}; \`to\` is the id of the only user who sees a message, and otherwise null or omitted`,
  );
}

/**
 * Returns the fault in the buttons or the image of a message, if any. A field that the endpoint has not given for any
 * message is not checked. If the endpoint gives `buttons` for some messages, a message without `buttons` counts as
 * having no buttons. The same rule applies to `image`.
 */
export function wrongLooks(shown: ShownMessage, event: ShownEvent, listed: Listed): Broken | undefined {
  const { buttons, image } = event.message;
  const text = quoted(event.message);
  const labels = buttons.flat().map(({ label }) => label);
  const shownLabels = shown.buttons ?? [];
  if (listed.buttons && JSON.stringify(shownLabels) !== JSON.stringify(labels)) {
    return new Broken(
      `${text} is shown with ${buttonsIn(shownLabels)}, not with ${buttonsIn(labels)}`,
      fixOf(event, "show the buttons of all rows, and list their labels in that order", "buttons"),
    );
  }
  const shownImage = shown.image ?? null;
  if (listed.image && shownImage !== image) {
    return new Broken(
      `${text} is shown with ${imageIn(shownImage)}, not with ${imageIn(image)}`,
      fixOf(event, "show the image, and list its URI as the event gave it", "image"),
    );
  }
  return undefined;
}

/**
 * Returns the allowed channels. A chat that cannot show a message to a single member may show an ephemeral message as
 * a DM.
 */
function placesOf(event: ShownEvent): readonly string[] {
  switch (event.type) {
    case "message.ephemeral":
      return [event.channel, `dm:${event.user}`];
    case "message.update":
      return [event.channel];
    case "message.create":
    case "dm.create":
      return [channelOf(event)];
  }
}

/** Returns the id of the only member who should see a message; undefined if everybody in the channel should. */
function memberOf(event: ShownEvent): string | undefined {
  if ("user" in event) return event.user;
  return event.channel.startsWith("dm:") ? event.channel.slice("dm:".length) : undefined;
}

function fixOf({ type }: ShownEvent, how: string, field: "buttons" | "image"): string {
  const what = type === "message.update" ? "replace text, buttons and image with those of the update" : how;
  return `${what}; if the bridge does not know this field, leave \`${field}\` out of every observed message`;
}

const buttonsIn = (labels: readonly string[]) =>
  labels.length === 0 ? "no buttons" : `the buttons ${JSON.stringify(labels)}`;

const imageIn = (image: string | null) =>
  image === null ? "no image" : `the image ${JSON.stringify(image)}`;
