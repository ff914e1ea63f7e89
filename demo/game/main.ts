import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { readGameConfig } from "./config";
import { startTrivia } from "./trivia";

void runProcess(async (stopping) => {
  const config = readGameConfig(process.env);
  const log = createLogger("demo/game", config.logLevel);
  return { running: await startTrivia(config, log, stopping), log };
});
