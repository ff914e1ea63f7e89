import { join } from "node:path";
import { runBridgeProgram } from "chat-bridge-runner";
import { MATRIX_INIT } from "./init";
import { startMatrixBridge } from "./matrix-bridge";
import { checkMatrixSettings, MATRIX_SETTINGS } from "./settings";

void runBridgeProgram({
  packageFolder: join(__dirname, ".."),
  settings: MATRIX_SETTINGS,
  check: checkMatrixSettings,
  init: MATRIX_INIT,
  start: startMatrixBridge,
});
