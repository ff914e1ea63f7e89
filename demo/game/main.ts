import type { Logger } from "pino";
import { memoryStore, startGame } from "../../kit/game/index";
import { answerArguments } from "../../runtime/command-line";
import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { formatHostPort } from "../../runtime/settings";
import { readGameConfig, type GameConfig } from "./config";
import { listenForPictures } from "./picture-listener";
import { drawQuestions } from "./questions/draw-questions";
import type { Rules } from "./rules/game-state";
import { createTrivia } from "./trivia";

/**
 * Maximum number of workspaces with state in memory. At this maximum, the least recently used workspace is dropped with
 * its games.
 */
const WORKSPACES_MAX = 5_000;

answerArguments({
  file: "demo/game/main.js",
  purpose: "The demo game: trivia, over gRPC.",
  settings: "docs/settings.md#the-demos-game",
});

void runProcess(async (stopping) => {
  const config = readGameConfig(process.env);
  const log = createLogger("demo/game", config.logLevel);
  for (const line of config.misspelled) log.warn(line);
  return { running: await start(config, log, stopping), log };
});

/**
 * Starts the game. Resolves when the game follows events. Rejects if core rejects the game, or if `stopping` is
 * aborted, before the game follows events.
 */
async function start(config: GameConfig, log: Logger, stopping: AbortSignal) {
  const pictures = await listenForPictures(config.picturesListen);
  const { port } = pictures;
  const { picturesUrl = `http://${formatHostPort({ ...config.picturesListen, port })}/` } = config;
  const game = await startGame(createTrivia(rulesOf(config, picturesUrl)), {
    settings: config,
    store: memoryStore(WORKSPACES_MAX),
    log,
    isProgram: false,
    signal: stopping,
  });
  log.info({ port, healthPort: game.healthPort }, "demo/game is ready");
  return {
    close: async () => {
      await game.stop();
      await pictures.close();
    },
  };
}

function rulesOf(config: GameConfig, picturesUrl: string): Rules {
  const { name, games, rounds, secondsPerQuestion, lobbySeconds, revealSeconds } = config;
  return {
    name,
    otherGames: games.filter((each) => each !== name),
    rounds,
    secondsPerQuestion,
    lobbyMs: lobbySeconds * 1000,
    revealMs: revealSeconds * 1000,
    drawQuestions: (count, seed) => drawQuestions(count, seed, (file) => `${picturesUrl}${file}.png`),
  };
}
