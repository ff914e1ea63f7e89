import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { startChat } from "./chat";
import { readChatConfig } from "./config";

void runProcess(async () => {
  const config = readChatConfig(process.env);
  const log = createLogger("demo/chat", config.logLevel);
  return { running: await startChat(config, log), log };
});
