import { setMaxListeners } from "node:events";
import type { Logger } from "pino";
import { listenForProbes } from "../../runtime/health-listener";
import type { ChatConfig } from "./config";
import { startBridge } from "./link/bridge";
import { createRoom } from "./room/room";
import { startPageServer } from "./server/page-server";
import type { StreamEvent } from "./shapes";
import { createWireLog } from "./wire/wire-log";

export interface ChatDemo {
  /** Closes the pages' streams, then the bridge. Closing twice is harmless. */
  close(): Promise<void>;
}

const CHANNELS = [
  { id: "general", name: "general" },
  { id: "lounge", name: "lounge" },
];

/** Starts the chat: a room, its bridge and the page. Resolves when the page is served. */
export async function startChat(config: ChatConfig, log: Logger): Promise<ChatDemo> {
  const room = createRoom(CHANNELS);
  const wire = createWireLog();
  const stopping = new AbortController();
  // Each open page adds a listener, so Node must not warn about their number.
  setMaxListeners(0, stopping.signal);
  const watching = new Set<(event: StreamEvent) => void>();
  const tell = (event: StreamEvent): void => watching.forEach((look) => look(event));
  const bridge = await startBridge({
    config,
    room,
    wire,
    log,
    onState: (link) => tell({ type: "link", link }),
    onMissed: () => tell({ type: "missed" }),
  });
  const { report, setMode, setCut } = bridge;
  const link = {
    state: () => bridge.state,
    report,
    setMode,
    setCut,
    watch(look: (event: StreamEvent) => void) {
      watching.add(look);
      return () => watching.delete(look);
    },
  };
  let page: Awaited<ReturnType<typeof startPageServer>> | undefined;
  let health: Awaited<ReturnType<typeof listenForProbes>> | undefined;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      stopping.abort();
      await page?.close();
      await bridge.close();
      await health?.close();
    })());
  try {
    page = await startPageServer(config, { room, wire, link, stopping: stopping.signal }, log);
    health = await listenForProbes(config.healthListen, async () =>
      closing === undefined ? undefined : "stopping",
    );
  } catch (error) {
    await close();
    throw error;
  }
  log.info({ port: page.port, healthPort: health.port, pushPort: bridge.pushPort }, "demo/chat is ready");
  return { close };
}
