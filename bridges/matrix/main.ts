import { join } from "node:path";
import { runBridgeProgram } from "chat-bridge-runner";
import { startMatrixBridge } from "./matrix-bridge";
import { checkMatrixSettings, MATRIX_SETTINGS } from "./settings";

void runBridgeProgram({
  packageFolder: join(__dirname, ".."),
  settings: MATRIX_SETTINGS,
  check: checkMatrixSettings,
  start: startMatrixBridge,
});
