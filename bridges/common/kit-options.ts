import { folderStore, type BridgeOptions } from "chat-bridge-kit";
import type { Logger } from "pino";
import type { BridgeSettings } from "./bridge-settings";

/**
 * Returns the options for `createBridge` that follow from the settings. Problems are logged. The caller adds the chat.
 */
export function kitOptions(settings: BridgeSettings, log: Logger): Omit<BridgeOptions, "chat"> {
  const { MODE: mode, LISTEN: listen, TLS_CERT: cert, TLS_KEY: key } = settings;
  const tls = cert === undefined || key === undefined ? {} : { cert, key };
  // The kit must not lock the folder: the program has already locked it, because a bridge may connect to the chat
  // first.
  const { lock: _lock, ...store } = folderStore(settings.STATE_FOLDER);
  return {
    baseUrl: settings.BASE_URL,
    workspaceId: settings.WORKSPACE_ID,
    secrets: settings.SIGNING_SECRET,
    store,
    mode,
    ...(mode === "push" && listen !== undefined ? { listen: { ...listen, ...tls } } : {}),
    onMissed: () => log.warn("events expired before the bridge fetched them"),
    onReconnected: () => log.info("connected to the service again"),
    report: ({ message: problem }) => log.warn({ problem }, "a problem between the service and the bridge"),
  };
}
