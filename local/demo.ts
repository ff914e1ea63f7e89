import { isIP } from "node:net";
import { join } from "node:path";
import { formatHostPort } from "../runtime/settings";
import { makeCertificate, rootsWith, type CertificateFiles } from "./certificate";
import { startChild, untilReady, type Child } from "./children";
import { reachable } from "./listen-addresses";
import type { Operator } from "./operator";
import type { DemoWorkspace } from "./settings-file";
import type { ListenAddresses } from "./start-settings";
import { startTargetUrlSwitch, type TargetUrlSwitch } from "./target-url-switch";

/** Preparations before core starts, so that core can push to the chat. */
export interface DemoPlan {
  /** Certificate of the chat. If undefined, none could be made, and the chat only polls. */
  readonly certificate: CertificateFiles | undefined;
  /** Settings of core, which allow the chat's address and trust its certificate. */
  readonly core: NodeJS.ProcessEnv;
}

export async function planDemo(
  own: NodeJS.ProcessEnv,
  listen: ListenAddresses,
  dataDir: string,
): Promise<DemoPlan> {
  const folder = join(dataDir, "chat");
  const { host } = new URL(targetUrlOf(listen));
  const address = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  const certificate = await makeCertificate(folder, address);
  if (certificate === undefined) return { certificate, core: {} };
  const allowed = { 0: "127.0.0.1/32,::1/128", 4: `${address}/32`, 6: `${address}/128` }[isIP(address)];
  return {
    certificate,
    core: {
      PUSH_ALLOW: [own["PUSH_ALLOW"] ?? "", allowed].join(","),
      PUSH_CA: rootsWith(certificate, own["PUSH_CA"], folder),
    },
  };
}

export interface DemoOptions {
  readonly plan: DemoPlan;
  readonly listen: ListenAddresses;
  readonly workspace: DemoWorkspace;
  readonly operator: Operator;
  readonly environments: Readonly<Record<"game" | "chat", NodeJS.ProcessEnv>>;
  logOf(name: Child["name"]): string;
  watch(child: Child): void;
  readonly signal: AbortSignal;
}

/** A relative path, since paths of sockets must be short. The chat runs in the same folder. */
const SWITCH_SOCKET = "chat.sock";

/** Starts the game and the chat. Resolves when both are ready; close the result after they have stopped. */
export async function startDemo(options: DemoOptions): Promise<TargetUrlSwitch> {
  const { plan, listen, workspace, operator, environments, logOf, watch, signal } = options;
  const { certificate } = plan;
  const targetUrl = targetUrlOf(listen);
  const modeSwitch = await startTargetUrlSwitch({
    socketPath: SWITCH_SOCKET,
    operator,
    workspaceId: workspace.id,
    targetUrl,
  });
  const game = startChild("game", environments.game, logOf("game"));
  watch(game);
  const chat = startChild(
    "chat",
    {
      ...environments.chat,
      WORKSPACE_ID: workspace.id,
      SIGNING_SECRET: workspace.secret,
      ...(certificate === undefined
        ? {}
        : {
            PUSH_TLS_CERT: certificate.certPath,
            PUSH_TLS_KEY: certificate.keyPath,
            PUSH_LISTEN: formatHostPort(listen.CHAT_PUSH_LISTEN),
            TARGET_URL: targetUrl,
            MODE_SOCKET: SWITCH_SOCKET,
          }),
    },
    logOf("chat"),
  );
  watch(chat);
  try {
    await untilReady(game, reachable(listen.GAME_HEALTH_LISTEN), signal);
    await untilReady(chat, reachable(listen.CHAT_HEALTH_LISTEN), signal);
  } catch (error) {
    await modeSwitch.close();
    throw error;
  }
  return modeSwitch;
}

function targetUrlOf({ CHAT_PUSH_LISTEN }: ListenAddresses): string {
  return `https://${reachable(CHAT_PUSH_LISTEN)}/pushes`;
}
