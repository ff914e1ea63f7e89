import { openGame } from "./game";
import type { Game, Member } from "./game-state";
import { withGame, type Step } from "./step";
import type { ChannelSettings, Rules, Workspace } from "./workspace-state";

/** Most live games of one workspace. */
const GAMES_MAX = 100;

/** Opens a game in a channel, or returns the reason why it cannot. */
export function openGameIn(
  rules: Rules,
  workspace: Workspace,
  { channel, host, eventId }: { readonly channel: string; readonly host: Member; readonly eventId: string },
  nowMs: number,
): Step | "game-is-on" | "too-many-games" {
  if (workspace.games.has(channel)) return "game-is-on";
  if (workspace.games.size >= GAMES_MAX) return "too-many-games";
  const { rounds, secondsPerQuestion } = settingsOf(rules, workspace, channel);
  const plan = {
    id: eventId,
    channel,
    host,
    questions: rules.drawQuestions(rounds, eventId),
    secondsPerQuestion,
    revealMs: rules.revealMs,
  };
  return withGame(workspace, openGame(plan, rules.lobbyMs, nowMs));
}

export function settingsOf(rules: Rules, { settings }: Workspace, channel: string): ChannelSettings {
  return settings.get(channel) ?? rules.defaults;
}

export function findGame({ games }: Workspace, channel: string, gameId: string): Game | undefined {
  const game = games.get(channel);
  return game?.id === gameId ? game : undefined;
}
