import { DM_PREFIX } from "../../contract/forms";
import { ID_MAX_CHARACTERS } from "../../contract/numbers";
import type { InGame, PressedOption } from "./view/game-message";

// The checks of the payloads of buttons. A bridge returns the payload of a pressed button, and can return any other
// JSON value.

/** The payload of buttons and questions in a direct conversation, which contains the channel that they belong to. */
export type InChannel = { readonly channel: string };

export function isInGame(payload: unknown): payload is InGame {
  return typeof fieldsOf(payload)["game"] === "string";
}

export function isPressedOption(payload: unknown): payload is PressedOption {
  const { question, option } = fieldsOf(payload);
  return isInGame(payload) && Number.isSafeInteger(question) && Number.isSafeInteger(option);
}

/** Returns whether a payload names a channel. A direct conversation is not a channel. */
export function isInChannel(payload: unknown): payload is InChannel {
  const { channel } = fieldsOf(payload);
  const length = typeof channel === "string" && !channel.startsWith(DM_PREFIX) ? [...channel].length : 0;
  return length > 0 && length <= ID_MAX_CHARACTERS;
}

function fieldsOf(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === "object" && payload !== null ? { ...payload } : {};
}
