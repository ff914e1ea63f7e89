import { answerArguments } from "../../runtime/command-line";
import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { readGameConfig } from "./config";
import { startTrivia } from "./trivia";

answerArguments({
  file: "demo/game/main.js",
  purpose: "The demo game: trivia, over gRPC.",
  settings: "docs/settings.md#the-demos-game",
});

void runProcess(async (stopping) => {
  const config = readGameConfig(process.env);
  const log = createLogger("demo/game", config.logLevel);
  for (const line of config.misspelled) log.warn(line);
  return { running: await startTrivia(config, log, stopping), log };
});
