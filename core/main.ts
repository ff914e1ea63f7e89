import { answerArguments } from "../runtime/command-line";
import { collectGarbageLessOften } from "../runtime/garbage-collection";
import { createLogger } from "../runtime/logger";
import { runProcess } from "../runtime/run-process";
import { readCoreConfig } from "./config";
import { createCore } from "./core";

answerArguments({
  file: "core/main.js",
  purpose:
    "Core: serves gRPC to edges, games and operators, keeps events in Redis, and pushes events to bridges.",
  settings: "docs/settings.md#core",
});

collectGarbageLessOften();
void runProcess(async (stopping) => {
  const config = readCoreConfig(process.env);
  const log = createLogger("core", config.logLevel);
  for (const line of config.misspelled) log.warn(line);
  return { running: await createCore(config, log, {}, stopping), log };
});
