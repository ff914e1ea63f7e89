import { ID_MAX_CHARACTERS } from "../../../contract/numbers";

/**
 * The action of a button. The chat gets the action as opaque text, and each press returns this text. The text contains
 * everything that a press needs, so this process stores nothing about the button.
 */
export type ButtonAction =
  | { readonly do: "join"; readonly gameId: string }
  | { readonly do: "begin"; readonly gameId: string }
  | { readonly do: "answer"; readonly gameId: string; readonly question: number; readonly option: number }
  | { readonly do: "rematch"; readonly channel: string }
  | { readonly do: "no-rematch" };

export function writeAction(action: ButtonAction): string {
  switch (action.do) {
    case "join":
    case "begin":
      return `${action.do}:${action.gameId}`;
    case "answer":
      return `answer:${action.question}:${action.option}:${action.gameId}`;
    case "rematch":
      return `rematch:${action.channel}`;
    case "no-rematch":
      return "no-rematch";
  }
}

const ANSWER_FORM = /^(\d{1,3}):(\d{1,3}):([^]*)$/;
/** Matches the id of a channel, but not the id of a direct conversation. */
const CHANNEL_FORM = new RegExp(`^(?!dm:)[^]{1,${ID_MAX_CHARACTERS}}$`, "u");

/** Parses the text of an action. Returns undefined for text that `writeAction` cannot have written. */
export function readAction(text: string): ButtonAction | undefined {
  const [, verb, rest = ""] = /^([a-z-]+)(?::([^]*))?$/.exec(text) ?? [];
  switch (verb) {
    case "join":
    case "begin":
      return { do: verb, gameId: rest };
    case "answer": {
      const [, question, option, gameId] = ANSWER_FORM.exec(rest) ?? [];
      if (gameId === undefined) return undefined;
      return { do: "answer", gameId, question: Number(question), option: Number(option) };
    }
    case "rematch":
      return CHANNEL_FORM.test(rest) ? { do: "rematch", channel: rest } : undefined;
    case "no-rematch":
      return { do: "no-rematch" };
    default:
      return undefined;
  }
}
