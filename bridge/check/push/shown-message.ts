import { isObject } from "../../read-event";

/**
 * A message as the bridge says that its chat shows it. What is optional may be left out where it cannot be told;
 * where it is given it is judged, and null says that there is none.
 */
export interface ShownMessage {
  /** The chat's own id of it, or `dm:<user id>`. */
  readonly channel: string;
  readonly text: string;
  /** The member who alone sees it. */
  readonly to?: string | null;
  /** Labels of all rows, in their order. */
  readonly buttons?: readonly string[] | null;
  /** The URI that the event gave, also where the chat keeps a copy of the image. */
  readonly image?: string | null;
}

/** What an observation endpoint answers. */
const FORM = '{"messages":[{"channel":"…","text":"…"},…]}';

const isText = (value: unknown) => typeof value === "string";
const isAbsent = (value: unknown) => value === undefined || value === null;

const OPTIONAL: Readonly<Record<string, readonly [is: (value: unknown) => boolean, says: string]>> = {
  to: [isText, "is neither a user's id nor null"],
  buttons: [(value) => Array.isArray(value) && value.every(isText), "is not a list of labels"],
  image: [isText, "is neither a URI nor null"],
};

/** Reads what an observation endpoint answered; in words, for "… did not answer …", where it has not the form. */
export function readShown(json: unknown): readonly ShownMessage[] | { readonly fault: string } {
  const messages: unknown = isObject(json) ? json["messages"] : undefined;
  if (!Array.isArray(messages)) return { fault: `did not answer ${FORM}` };
  for (const message of messages as readonly unknown[]) {
    if (!isObject(message) || !isText(message["channel"]) || !isText(message["text"])) {
      return { fault: `did not answer ${FORM}` };
    }
    for (const [name, [is, says]] of Object.entries(OPTIONAL)) {
      const value = message[name];
      if (!isAbsent(value) && !is(value)) return { fault: `answered with a message whose "${name}" ${says}` };
    }
  }
  return messages as readonly ShownMessage[];
}
