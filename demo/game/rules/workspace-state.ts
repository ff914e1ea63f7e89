import type { Game, Question } from "./game-state";

/** The settings of a channel's games. */
export interface ChannelSettings {
  readonly rounds: number;
  readonly secondsPerQuestion: number;
}

/** A member's total over all games of the workspace. */
export interface Score {
  readonly name: string;
  readonly points: number;
  readonly wins: number;
}

/** A question that waits for a typed answer in a direct conversation. */
export interface Prompt {
  /** The ref of the message that asks. */
  readonly ref: string;
  /** The channel of the command that caused it. */
  readonly channel: string;
  readonly untilMs: number;
}

/** The state of a workspace. Each map is bounded; settings, scores and prompts set first are dropped first. */
export interface Workspace {
  /** Live games, by channel. */
  readonly games: ReadonlyMap<string, Game>;
  /** By channel; other channels have the defaults. */
  readonly settings: ReadonlyMap<string, ChannelSettings>;
  /** By member's id. */
  readonly scores: ReadonlyMap<string, Score>;
  /** The latest prompt of each member, by member's id. */
  readonly prompts: ReadonlyMap<string, Prompt>;
}

export const EMPTY_WORKSPACE: Workspace = {
  games: new Map(),
  settings: new Map(),
  scores: new Map(),
  prompts: new Map(),
};

/** Settings and functions that all workspaces share. */
export interface Rules {
  readonly defaults: ChannelSettings;
  readonly lobbyMs: number;
  readonly revealMs: number;
  /** Draws `count` questions; the same seed gives the same questions. */
  drawQuestions(count: number, seed: string): readonly Question[];
}
