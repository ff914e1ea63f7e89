import { answerArguments } from "../runtime/command-line";
import { collectGarbageLessOften } from "../runtime/garbage-collection";
import { createLogger } from "../runtime/logger";
import { runProcess } from "../runtime/run-process";
import { readEdgeConfig } from "./config";
import { createEdge } from "./edge";

answerArguments({
  file: "edge/main.js",
  purpose: "The edge: serves HTTP to bridges, and the dashboard to people.",
  settings: "docs/settings.md#edge",
});

collectGarbageLessOften();
void runProcess(async () => {
  const config = readEdgeConfig(process.env);
  const log = createLogger("edge", config.logLevel);
  for (const line of config.misspelled) log.warn(line);
  return { running: await createEdge(config, log), log };
});
