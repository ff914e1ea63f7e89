import type { Logger } from "pino";
import { listenForProbes } from "../../runtime/health-listener";
import type { ChatConfig } from "./config";
import { startBridge } from "./link/bridge";
import { Room } from "./room/room";
import { createDashboardLinks } from "./server/dashboard-links";
import { startPageServer } from "./server/page-server";
import type { StreamEvent } from "./shapes";
import { createWireLog } from "./wire/wire-log";

const CHANNELS = [
  { id: "general", name: "general" },
  { id: "lounge", name: "lounge" },
];

/** Starts the chat: a room, its bridge and the page. Resolves when the page is served. */
export async function startChat(config: ChatConfig, log: Logger) {
  /** One function for each open page, called with every event of the stream. */
  const pages = new Set<(event: StreamEvent) => void>();
  const tell = (event: StreamEvent): void => pages.forEach((page) => page(event));
  const room = new Room(CHANNELS, tell);
  const wire = createWireLog(tell);
  const bridge = await startBridge({ config, room, wire, log, tell });

  const { dashboard: reached, workspaceId } = config;
  const dashboard = reached && createDashboardLinks({ dashboard: reached, workspaceId }, log);
  const page = await startPageServer(config, { room, wire, bridge, dashboard, pages }, log);
  let closing: Promise<void> | undefined;
  const health = await listenForProbes(config.healthListen, async () =>
    closing === undefined ? undefined : "stopping",
  );
  log.info({ port: page.port, healthPort: health.port, pushPort: bridge.pushPort }, "demo/chat is ready");
  return {
    /** Closes the page's server, then the bridge. Closing twice is harmless. */
    close: (): Promise<void> =>
      (closing ??= (async () => {
        await page.close();
        await bridge.close();
        await health.close();
      })()),
  };
}
