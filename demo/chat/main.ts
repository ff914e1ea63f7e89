import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { startChat } from "./chat";
import { readChatConfig } from "./config";
import { HELP } from "./help";

const EXIT_USAGE = 64; // EX_USAGE

const [argument] = process.argv.slice(2);
if (argument === "--help" || argument === "-h") {
  process.stdout.write(HELP);
} else if (argument !== undefined) {
  process.stderr.write(`unknown argument ${argument}; --help lists the arguments\n`);
  process.exitCode = EXIT_USAGE;
} else {
  void runProcess(async () => {
    const config = readChatConfig(process.env);
    const log = createLogger("demo/chat", config.logLevel);
    return { running: await startChat(config, log), log };
  });
}
