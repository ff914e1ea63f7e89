import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { readGameConfig } from "./config";
import { HELP } from "./help";
import { startTrivia } from "./trivia";

const EXIT_USAGE = 64; // EX_USAGE

const [argument] = process.argv.slice(2);
if (argument === "--help" || argument === "-h") {
  process.stdout.write(HELP);
} else if (argument !== undefined) {
  process.stderr.write(`unknown argument ${argument}; --help lists the arguments\n`);
  process.exitCode = EXIT_USAGE;
} else {
  void runProcess(async (stopping) => {
    const config = readGameConfig(process.env);
    const log = createLogger("demo/game", config.logLevel);
    return { running: await startTrivia(config, log, stopping), log };
  });
}
