import type { Game, Question } from "./game-state";

/** What a channel may set for its games. */
export interface ChannelSettings {
  readonly rounds: number;
  readonly secondsPerQuestion: number;
}

/** What a member has won in all games of the workspace. */
export interface Score {
  readonly name: string;
  readonly points: number;
  readonly wins: number;
}

/** A question that waits for a typed answer in a direct conversation. */
export interface Prompt {
  /** The ref of the message that asks. */
  readonly ref: string;
  /** The channel in which it was asked for. */
  readonly channel: string;
  readonly untilMs: number;
}

/** All that is remembered of a workspace. Each map is bounded, the longest unused going first. */
export interface Workspace {
  /** Live games, by channel. */
  readonly games: ReadonlyMap<string, Game>;
  /** By channel; a channel that is not in it has the defaults. */
  readonly settings: ReadonlyMap<string, ChannelSettings>;
  /** By member's id. */
  readonly scores: ReadonlyMap<string, Score>;
  /** The latest of each member, by member's id. */
  readonly prompts: ReadonlyMap<string, Prompt>;
}

export const EMPTY_WORKSPACE: Workspace = {
  games: new Map(),
  settings: new Map(),
  scores: new Map(),
  prompts: new Map(),
};

/** What stays the same for every workspace. */
export interface Rules {
  readonly defaults: ChannelSettings;
  readonly lobbyMs: number;
  readonly revealMs: number;
  /** The same questions for the same seed. */
  drawQuestions(count: number, seed: string): readonly Question[];
}
