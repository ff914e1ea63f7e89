import { createLogger } from "../runtime/logger";
import { runProcess } from "../runtime/run-process";
import { readEdgeConfig } from "./config";
import { createEdge } from "./edge";

void runProcess(async () => {
  const config = readEdgeConfig(process.env);
  const log = createLogger("edge", config.logLevel);
  return { running: await createEdge(config, log), log };
});
