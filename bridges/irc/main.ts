import { join } from "node:path";
import { runBridgeProgram } from "chat-bridge-runner";
import { IRC_INIT } from "./init";
import { startIrcBridge } from "./irc-bridge";
import { checkIrcSettings, IRC_SETTINGS } from "./irc-settings";

void runBridgeProgram({
  packageFolder: join(__dirname, ".."),
  settings: IRC_SETTINGS,
  check: checkIrcSettings,
  init: IRC_INIT,
  start: startIrcBridge,
});
