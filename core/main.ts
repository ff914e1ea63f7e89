import { answerArguments } from "../runtime/command-line";
import { collectGarbageLessOften } from "../runtime/garbage-collection";
import { createLogger } from "../runtime/logger";
import { runProcess } from "../runtime/run-process";
import { readCoreConfig } from "./config";
import { createCore } from "./core";
import { migrate } from "./migrate";

const [command, ...rest] = process.argv.slice(2);
if (command === "migrate") void migrate(rest, process.env).then((code) => process.exit(code));
else serve();

function serve(): void {
  answerArguments({
    file: "core/main.js",
    purpose:
      "Core: serves gRPC to edges, games and operators, keeps events in Redis, and pushes events to bridges.",
    settings: "docs/settings.md#core",
    commands: {
      "migrate --help": "explain how to convert the data in Redis to the format of another release",
    },
  });

  collectGarbageLessOften();
  void runProcess(async (stopping) => {
    const config = readCoreConfig(process.env);
    const log = createLogger("core", config.logLevel);
    for (const line of config.misspelled) log.warn(line);
    return { running: await createCore(config, log, {}, stopping), log };
  });
}
