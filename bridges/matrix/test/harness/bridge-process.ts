import { startBridgeProcess, type BridgeProcess } from "../../../common/test/bridge-process";

/**
 * Starts the Matrix bridge as a process. Resolves when the bridge has started, even if it is not connected yet, or when
 * the process has exited.
 */
export async function startBridge(settings: Readonly<Record<string, string>>): Promise<BridgeProcess> {
  const bridge = startBridgeProcess("matrix", settings);
  await Promise.race([bridge.logs("chat-bridge-matrix is running"), bridge.exited]);
  return bridge;
}
