import { join } from "node:path";
import { runBridgeProgram } from "chat-bridge-runner";
import { checkXmppSettings, XMPP_SETTINGS } from "./settings";
import { startXmppBridge } from "./xmpp-bridge";

void runBridgeProgram({
  packageFolder: join(__dirname, ".."),
  settings: XMPP_SETTINGS,
  check: checkXmppSettings,
  start: startXmppBridge,
});
