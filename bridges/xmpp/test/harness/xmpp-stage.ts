import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { startGame } from "../../../../test/harness/game-chat";
import { freePort, startCore, startEdge, type TestProcess } from "../../../../test/harness/processes";
import { startService } from "../../../../test/harness/service";
import { startBridgeProcess, type BridgeProcess } from "../../../common/test/bridge-process";
import { joinXmpp, type XmppMember } from "./xmpp-member";
import { DOMAIN, PASSWORD, ROOMS, type XmppServer } from "./xmpp-server";

const PACE = { QUESTION_SECONDS: "60", REVEAL_SECONDS: "3", LOBBY_SECONDS: "120" };
export const ROOM = `games@${ROOMS}`;

/** Returns the settings of a bridge's chat. */
export function chatSettings({ port, caPath }: XmppServer): Readonly<Record<string, string>> {
  return {
    XMPP_JID: `games@${DOMAIN}`,
    XMPP_PASSWORD: PASSWORD,
    XMPP_SERVER: `127.0.0.1:${port}`,
    XMPP_CA: caPath,
    XMPP_ROOMS: ROOM,
  };
}

/**
 * Starts the service, the trivia game, three members in the room `ROOM`, and a bridge between a workspace and the room.
 * The service, the game, the bridge and the server can each be killed and restarted.
 */
export async function openStage(
  server: XmppServer,
  folder: string,
  more: Readonly<Record<string, string>> = {},
) {
  const ports = {
    CORE_LISTEN: `127.0.0.1:${await freePort()}`,
    EDGE_LISTEN: `127.0.0.1:${await freePort()}`,
  };
  const [service, members] = await Promise.all([
    startService({ core: ports, edge: ports }),
    openRoom(server, ["ann", "bob", "cid"]),
  ]);
  const workspace = await service.workspaces.make();
  const game = await startGame(service.core.port, PACE);
  const started: TestProcess[] = [];
  const settings = {
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: mkdtempSync(join(folder, "state-")),
    ...chatSettings(server),
    ...more,
  };
  let bridge: BridgeProcess = startBridgeProcess("xmpp", settings);
  await bridge.ready();

  return {
    service,
    workspace,
    settings,
    members: members as readonly [XmppMember, XmppMember, XmppMember],
    get bridge() {
      return bridge;
    },
    async startBridge(): Promise<void> {
      bridge = startBridgeProcess("xmpp", settings);
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
    async close(): Promise<void> {
      for (const member of members) member.leave();
      await bridge.stop("SIGKILL");
      await game.stop("SIGKILL");
      for (const each of started) await each.stop("SIGKILL");
      await service.close();
      await server.stop("SIGKILL");
    },
  };
}

/** Connects members, the first of whom creates the room. The nick is the account with a capital letter. */
export async function openRoom(
  server: XmppServer,
  accounts: readonly string[],
  room = ROOM,
  values: Readonly<Record<string, unknown>> = {},
): Promise<readonly XmppMember[]> {
  const nickOf = (account: string): string => account.charAt(0).toUpperCase() + account.slice(1);
  const members = await Promise.all(
    accounts.map((account) => joinXmpp(server, account, nickOf(account), room)),
  );
  const [owner, ...others] = members;
  await owner?.join();
  await owner?.configure(values);
  await Promise.all(others.map((member) => member.join()));
  return members;
}
