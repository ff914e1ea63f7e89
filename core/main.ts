import { createLogger } from "../runtime/logger";
import { runProcess } from "../runtime/run-process";
import { readCoreConfig } from "./config";
import { createCore } from "./core";

void runProcess(async (stopping) => {
  const config = readCoreConfig(process.env);
  const log = createLogger("core", config.logLevel);
  return { running: await createCore(config, log, {}, stopping), log };
});
