import { join } from "node:path";
import { runBridgeProgram } from "chat-bridge-runner";
import { XMPP_INIT } from "./init";
import { checkXmppSettings, XMPP_SETTINGS } from "./settings";
import { startXmppBridge } from "./xmpp-bridge";

void runBridgeProgram({
  packageFolder: join(__dirname, ".."),
  settings: XMPP_SETTINGS,
  check: checkXmppSettings,
  init: XMPP_INIT,
  start: startXmppBridge,
});
