import { isObject } from "../../read-event";

/**
 * A message that the chat shows, as the bridge's observation endpoint lists it. Optional fields may be omitted if they
 * are unavailable. A field that the endpoint gives for any message is checked for all messages. Null means no buttons,
 * no image, or no single recipient.
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
