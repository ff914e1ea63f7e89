import { answerArguments } from "../../runtime/command-line";
import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { startChat } from "./chat";
import { readChatConfig } from "./config";

answerArguments({
  file: "demo/chat/main.js",
  purpose: "The demo chat: a chat in the browser, with its own bridge.",
  settings: "docs/settings.md#the-demos-chat",
});

void runProcess(async () => {
  const config = readChatConfig(process.env);
  const log = createLogger("demo/chat", config.logLevel);
  for (const line of config.misspelled) log.warn(line);
  return { running: await startChat(config, log), log };
});
