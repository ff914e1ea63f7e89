import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { startGame } from "../../../test/harness/game-chat";
import { freePort, startCore, startEdge, type TestProcess } from "../../../test/harness/processes";
import { startService } from "../../../test/harness/service";
import { startBridgeProcess, type BridgeProcess } from "./bridge-process";

interface StageOptions {
  readonly chat: "irc" | "xmpp";
  /** The folder in which the bridge's state folder is created. */
  readonly folder: string;
  /** The settings of the bridge, except those of the workspace. */
  readonly chatSettings: Readonly<Record<string, string>>;
  /** The settings of the trivia game. */
  readonly pace: Readonly<Record<string, string>>;
}

/**
 * Starts the service, the trivia game, and a bridge between a workspace and a chat. The service, the game and the bridge
 * can each be killed and restarted.
 */
export async function openBridgeStage({ chat, folder, chatSettings, pace }: StageOptions) {
  const ports = {
    CORE_LISTEN: `127.0.0.1:${await freePort()}`,
    EDGE_LISTEN: `127.0.0.1:${await freePort()}`,
  };
  const service = await startService({ core: ports, edge: ports });
  const workspace = await service.workspaces.make();
  const game = await startGame(service.core.port, pace);
  const started: TestProcess[] = [];
  const settings = {
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: mkdtempSync(join(folder, "state-")),
    ...chatSettings,
  };
  let bridge: BridgeProcess = startBridgeProcess(chat, settings);
  await bridge.ready();

  return {
    service,
    workspace,
    settings,
    get bridge() {
      return bridge;
    },
    async startBridge(): Promise<void> {
      bridge = startBridgeProcess(chat, settings);
      await bridge.ready();
    },
    async killService(): Promise<void> {
      await Promise.all([service.core.stop("SIGKILL"), service.edge.stop("SIGKILL")]);
    },
    async startService(): Promise<void> {
      const core = await startCore(service.redis.url, ports);
      const edge = await startEdge(core.port, ports);
      started.push(edge, core);
    },
    async closeStage(): Promise<void> {
      await bridge.stop("SIGKILL");
      await game.stop("SIGKILL");
      for (const each of started) await each.stop("SIGKILL");
      await service.close();
    },
  };
}
