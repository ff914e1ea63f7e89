/**
 * The action of a button. It goes to the chat and back as the button's opaque
 * text. It contains everything that a press needs, so buttons also work on
 * messages that this process does not remember.
 */
export type ButtonAction =
  | { readonly do: "join"; readonly gameId: string }
  | { readonly do: "begin"; readonly gameId: string }
  | {
      readonly do: "answer";
      readonly gameId: string;
      readonly question: number;
      readonly option: number;
    }
  | { readonly do: "rounds"; readonly by: number }
  | { readonly do: "seconds"; readonly by: number }
  | { readonly do: "rematch"; readonly channel: string }
  | { readonly do: "no-rematch" };

export function writeAction(action: ButtonAction): string {
  switch (action.do) {
    case "join":
    case "begin":
      return `${action.do}:${action.gameId}`;
    case "answer":
      return `answer:${action.question}:${action.option}:${action.gameId}`;
    case "rounds":
    case "seconds":
      return `${action.do}:${action.by}`;
    case "rematch":
      return `rematch:${action.channel}`;
    case "no-rematch":
      return "no-rematch";
  }
}

/** The id of a channel; ids of direct conversations do not match. */
const CHANNEL_FORM = /^(?!dm:)[^]{1,128}$/u;
const FORM = /^([a-z-]+)(?::([^]*))?$/;

/** Parses a button's text; returns undefined for a text that `writeAction` does not write. */
export function readAction(text: string): ButtonAction | undefined {
  const [, verb, rest = ""] = FORM.exec(text) ?? [];
  switch (verb) {
    case "join":
    case "begin":
      return { do: verb, gameId: rest };
    case "answer": {
      const [, question, option, gameId] = /^(\d{1,3}):(\d{1,3}):([^]*)$/.exec(rest) ?? [];
      if (gameId === undefined) return undefined;
      return { do: "answer", gameId, question: Number(question), option: Number(option) };
    }
    case "rounds":
    case "seconds":
      return /^-?\d{1,3}$/.test(rest) ? { do: verb, by: Number(rest) } : undefined;
    case "rematch":
      return CHANNEL_FORM.test(rest) ? { do: "rematch", channel: rest } : undefined;
    case "no-rematch":
      return { do: "no-rematch" };
    default:
      return undefined;
  }
}
