import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import type { Member } from "../rules/game-state";
import type { MessageContent } from "../rules/output";
import type { ChannelSettings, Score } from "../rules/workspace-state";
import { button, card, link, paragraphs, rows } from "./content";
import { boardLine } from "./game-message";
import { plain, plainName } from "./plain";

const LEADERS_SHOWN = 10;

const COMMANDS = [
  ["start", "open a game in this channel"],
  ["stop", "end the game that you opened"],
  ["leaderboard", "who has won most"],
  ["settings", "rounds, and seconds for each question"],
  ["suggest", "suggest a topic for the channel to talk about"],
] as const;

/** Answers an empty command. */
export function showHelp(): MessageContent {
  return {
    kind: MessageKind.HELP,
    text: paragraphs(
      "**Trivia** asks questions; press a button to answer, the faster the better. At the end the closest number wins.",
      COMMANDS.map(([verb, what]) => `\`${verb}\` · ${what}`).join("\n"),
    ),
    rows: rows([link("What is trivia?", "https://en.wikipedia.org/wiki/Trivia")]),
  };
}

export function showUnknownCommand(verb: string): MessageContent {
  return card(`Unknown command “${plainName(verb)}”. Send the command without arguments for help.`);
}

export function showSettings({ rounds, secondsPerQuestion }: ChannelSettings): MessageContent {
  return {
    kind: MessageKind.SETTINGS,
    text: paragraphs(
      "**Games in this channel**",
      `Rounds: **${rounds}**\nSeconds for each question: **${secondsPerQuestion}**`,
    ),
    rows: rows(
      [button("Fewer rounds", { do: "rounds", by: -1 }), button("More rounds", { do: "rounds", by: 1 })],
      [button("Less time", { do: "seconds", by: -5 }), button("More time", { do: "seconds", by: 5 })],
    ),
    data: { rounds, secondsPerQuestion },
  };
}

export function showLeaderboard(scores: readonly Score[]): MessageContent {
  const leaders = scores.toSorted((a, b) => b.points - a.points).slice(0, LEADERS_SHOWN);
  const line = (score: Score, rank: number): string =>
    `${boardLine(score, rank)}, ${score.wins} ${score.wins === 1 ? "win" : "wins"}`;
  return {
    kind: MessageKind.LEADERBOARD,
    text: paragraphs(
      "**Leaderboard**",
      leaders.length === 0 ? "Nobody has played yet." : leaders.map(line).join("\n"),
    ),
    data: { board: leaders.map(({ name, points, wins }) => ({ name, points, wins })) },
  };
}

/** The direct message to a winner. */
export function showRematchOffer(points: number, channel: string): MessageContent {
  return {
    ...card(paragraphs(`**You won** with ${points} points.`, "Do you want a rematch?")),
    rows: rows([button("Rematch", { do: "rematch", channel }), button("Not now", { do: "no-rematch" })]),
  };
}

/** Replaces the offer; has no buttons. */
export function showRematchAnswer(answer: "opened" | "declined" | "game-is-on"): MessageContent {
  const TEXTS = {
    opened: "**Rematch!** The lobby is open.",
    declined: "Well played. Until next time.",
    "game-is-on": "A game is already running there. Join that one.",
  } as const;
  return card(TEXTS[answer]);
}

/** Asks for a topic in a direct message; the member's next text there is the answer. */
export function showTopicPrompt(): MessageContent {
  return { ...card("**Which topic would you like?** Type it here."), awaitsReply: true };
}

export function showTopicThanks(topic: string): MessageContent {
  return card(paragraphs("Thank you. This was posted in the channel:", `> ${plain(topic)}`));
}

export function showTopic({ name }: Member, topic: string): MessageContent {
  return card(paragraphs(`**${plainName(name)}** suggests a topic:`, `> ${plain(topic)}`));
}
