import { link, type Button, type MessageContent, type Turn } from "../../../kit/game/index";
import { paragraphs, plain, plainName } from "./content";

/** The part of a turn that returns the command for a verb, or, for an empty verb, the command for the help. */
type Usage = Pick<Turn<unknown>, "usage">;

/** The commands in the help, with their descriptions. */
export const COMMANDS = {
  start: "open a game in this channel",
  stop: "end the game that you opened",
  suggest: "suggest a topic for the channel to talk about",
} as const;

/**
 * Returns the answer to the command `help`, and to an empty command. If this is the workspace's first game, the help
 * also names the other games.
 */
export function showHelp(turn: Usage, otherGames: readonly string[]): MessageContent {
  const isFirst = turn.usage("") === "";
  const others = otherGames.map((name) => `\`${name}\``);
  return {
    kind: "help",
    text: paragraphs(
      "**Trivia** asks questions. Answer with a button, a reaction or a number, as the question says: the faster, the better. At the end, the closest number wins.",
      "Type the chat's command for games, and after it one of these:",
      Object.entries(COMMANDS)
        .map(([verb, what]) => `\`${turn.usage(verb)}\` · ${what}`)
        .join("\n"),
      isFirst && others.length > 0
        ? `Other games: ${others.join(", ")}. Send the command with the name of a game.`
        : undefined,
    ),
    buttons: [[link("What is trivia?", "https://en.wikipedia.org/wiki/Trivia")]],
  };
}

export function showUnknownCommand(verb: string, turn: Usage): string {
  const own = turn.usage("");
  const how = own === "" ? "without arguments" : `with only \`${own}\``;
  return `Unknown command “${plainName(verb)}”. Send the command ${how} for help.`;
}

export function showGameIsOver(turn: Usage): string {
  return `That game is over. Send the command with \`${turn.usage("start")}\` to open another game.`;
}

export function showNoGame(turn: Usage): string {
  return `No game is running in this channel. Send the command with \`${turn.usage("start")}\` to open a game.`;
}

/**
 * Returns the notice about a number that has two meanings. Each number that the notice suggests has only one meaning.
 */
export function showUnclearNumber(number: { readonly whole: string; readonly decimal: string }) {
  const { whole, decimal } = number;
  const text = `Do you mean ${whole} or ${decimal}? Type \`${whole}\` for the first, or \`${decimal}0\` for the second.`;
  return { text };
}

/** Returns the text that replaces the older copy of a live message that was posted again. The text has no buttons. */
export function showMoved(): MessageContent {
  return { text: "**Trivia**: the game goes on in a newer message." };
}

/** Messages that only one member sees. */
const NOTICES = {
  joined: "You are in. The first question comes when the game starts.",
  "joined-late": "You are in.",
  "already-in": "You have already joined.",
  full: "This game is full. Join the next game.",
  "has-begun": "The game has already started.",
  "answer-to-join": "The game has already started. To join the game, answer a question.",
  "join-first": "Join the game first, then start it.",
  "too-late": "Too late: the question is closed.",
  "not-a-number": "That is not a number. Answer with a number, e.g. 42.",
  "game-is-on": "A game is already running in this channel.",
  "only-host": "Only the member who opened the game can stop it.",
  "too-many-games": "Too many games are running. Try again later.",
} as const;

/** Returns a notice, followed by the sentence `now` if it is not empty. */
export function notice(name: keyof typeof NOTICES, now = ""): MessageContent {
  return { text: [NOTICES[name], now].filter(Boolean).join(" ") };
}

/** Returns the direct message that offers a rematch to a winner. */
export function showRematchOffer(points: number, buttons: readonly Button[]): MessageContent {
  const text = paragraphs(`**You won** with ${points} points.`, "Do you want a rematch?");
  return { text, buttons: [buttons] };
}

const REMATCH_ANSWERS = {
  opened: "**Rematch!** The lobby is open.",
  declined: "Well played. Until next time.",
  "game-is-on": "A game is already running in that channel. Join that game.",
  "too-many-games": NOTICES["too-many-games"],
} as const;

/** Returns the message that replaces the offer of a rematch. The message has no buttons. */
export function showRematchAnswer(answer: keyof typeof REMATCH_ANSWERS): string {
  return REMATCH_ANSWERS[answer];
}

/** The direct message that asks for a topic. The member's next direct message is the answer. */
export const TOPIC_PROMPT = "**Which topic would you like?** Type it here.";

export function showTopicThanks(topic: string): string {
  return paragraphs("Thank you. This was posted in the channel:", `> ${plain(topic)}`);
}

export function showTopic(name: string, topic: string): string {
  return paragraphs(`**${plainName(name)}** suggests a topic:`, `> ${plain(topic)}`);
}
