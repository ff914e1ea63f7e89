import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { isFirst, writeCommand, type GameNames } from "../rules/game-names";
import type { Member } from "../rules/game-state";
import type { MessageContent } from "../rules/input-output";
import { button, card, link, paragraphs, plain, plainName } from "./content";

const COMMANDS = [
  ["start", "open a game in this channel"],
  ["stop", "end the game that you opened"],
  ["suggest", "suggest a topic for the channel to talk about"],
] as const;

/** Returns the answer to the command `help`, and to an empty command. The help of the first game names the other games. */
export function showHelp(names: GameNames): MessageContent {
  const others = names.all.slice(1).map((name) => `\`${name}\``);
  return {
    kind: MessageKind.HELP,
    text: paragraphs(
      "**Trivia** asks questions; press a button to answer, the faster the better. At the end the closest number wins.",
      "Send the command with one of these words:",
      COMMANDS.map(([verb, what]) => `\`${writeCommand(verb, names)}\` · ${what}`).join("\n"),
      isFirst(names) && others.length > 0
        ? `Other games: ${others.join(", ")}. Send the command with the name of a game.`
        : undefined,
    ),
    rows: [{ buttons: [link("What is trivia?", "https://en.wikipedia.org/wiki/Trivia")] }],
  };
}

export function showUnknownCommand(verb: string, names: GameNames): MessageContent {
  const how = isFirst(names) ? "without arguments" : `with only \`${names.own}\``;
  return card(`Unknown command “${plainName(verb)}”. Send the command ${how} for help.`);
}

export function showGameIsOver(names: GameNames): MessageContent {
  return card(
    `That game is over. Send the command with \`${writeCommand("start", names)}\` to open another game.`,
  );
}

export function showNoGame(names: GameNames): MessageContent {
  const start = writeCommand("start", names);
  return card(`No game is running in this channel. Send the command with \`${start}\` to open a game.`);
}

/**
 * Returns the notice about a number that has two meanings. Each number that the notice suggests has only one meaning.
 */
export function showUnclearNumber({ whole, decimal }: { readonly whole: string; readonly decimal: string }) {
  return card(
    `Do you mean ${whole} or ${decimal}? Type \`${whole}\` for the first, or \`${decimal}0\` for the second.`,
  );
}

/** Messages that only one member sees. */
const NOTICES = {
  joined: "You are in. The first question comes when the game starts.",
  "joined-late": "You are in. The game has already started.",
  "already-in": "You have already joined.",
  full: "This game is full. Join the next game.",
  "has-begun": "The game has already started. Answer a question to join the game.",
  "join-first": "Join the game first, then start it.",
  "too-late": "Too late: the time is up.",
  "not-a-number": "That is not a number. Answer with a number, e.g. 42.",
  "game-is-on": "A game is already running in this channel.",
  "only-host": "Only the member who opened the game can stop it.",
  "too-many-games": "Too many games are running. Try again later.",
} as const;

export function notice(name: keyof typeof NOTICES): MessageContent {
  return card(NOTICES[name]);
}

/** Returns the direct message that offers a rematch to a winner. */
export function showRematchOffer(points: number, channel: string): MessageContent {
  const buttons = [button("Rematch", { do: "rematch", channel }), button("Not now", { do: "no-rematch" })];
  return {
    ...card(paragraphs(`**You won** with ${points} points.`, "Do you want a rematch?")),
    rows: [{ buttons }],
  };
}

const REMATCH_ANSWERS = {
  opened: "**Rematch!** The lobby is open.",
  declined: "Well played. Until next time.",
  "game-is-on": "A game is already running in that channel. Join that game.",
  "too-many-games": NOTICES["too-many-games"],
} as const;

/** Returns the message that replaces the offer of a rematch. The message has no buttons. */
export function showRematchAnswer(answer: keyof typeof REMATCH_ANSWERS): MessageContent {
  return card(REMATCH_ANSWERS[answer]);
}

/** Returns the direct message that asks for a topic. The member's next direct message is the answer. */
export function showTopicPrompt(): MessageContent {
  return { ...card("**Which topic would you like?** Type it here."), awaitsReply: true };
}

export function showTopicThanks(topic: string): MessageContent {
  return card(paragraphs("Thank you. This was posted in the channel:", `> ${plain(topic)}`));
}

export function showTopic({ name }: Member, topic: string): MessageContent {
  return card(paragraphs(`**${plainName(name)}** suggests a topic:`, `> ${plain(topic)}`));
}
