import { isIP } from "node:net";
import { formatHostPort, isLoopback } from "../../runtime/settings";
import { rootsWith, type CertificateFiles } from "./certificate";
import { reachable, reachableHost } from "./listen-addresses";
import type { KeptSettings } from "./settings-file";
import type { ListenAddresses } from "./start-settings";

/**
 * Settings that `npm start` does not pass to its processes. The TLS settings are for processes on separate machines,
 * and core and the edge use the same names for different certificates. `npm start` stops its processes within seconds,
 * so they do not drain.
 */
const NOT_PASSED_ON = /^CORE_TLS_|^DRAIN_SECONDS$/;
/** Secret settings that only core gets. */
const CORE_ONLY = ["REDIS_URL", "SECRETS_KEY", "CORE_TOKENS"];
/**
 * Path of the Unix socket for the chat's switch between polling and pushes. The path is relative, because a socket's path
 * must be short.
 */
export const SWITCH_SOCKET = "chat.sock";

/**
 * The token with which the demo's chat makes sign-in links for the dashboard, and the only workspace that the token
 * permits.
 */
export interface ChatToken {
  readonly token: string;
  readonly workspaceId: string;
}

/**
 * Returns whether the chat may sign its members in to the dashboard. If the chat does so, anyone who can open the chat
 * can manage the demo's workspace. The chat and the dashboard must therefore be reachable only from this machine.
 */
export function canSignIn({ CHAT_LISTEN, DASHBOARD_LISTEN }: ListenAddresses): boolean {
  return isLoopback(CHAT_LISTEN.host) && isLoopback(DASHBOARD_LISTEN.host);
}

/**
 * Returns the environment of each process. `own` is the environment of `npm start`. Each process gets its addresses,
 * its tokens and keys from `KeptSettings`, and the remaining settings in `own`. Core also accepts the tokens and keys
 * in `own`. If `certificate` is given, core can push to the chat. If `chatToken` is given, the chat can sign its
 * members in to the dashboard.
 */
export function childEnvironments(
  own: NodeJS.ProcessEnv,
  listen: ListenAddresses,
  { tokens, secretsKey }: KeptSettings,
  redisUrl: string,
  certificate: CertificateFiles | undefined,
  chatToken: ChatToken | undefined,
): Readonly<Record<"core" | "edge" | "game" | "chat", NodeJS.ProcessEnv>> {
  const shared = sharedEnvironment(own);
  const edgeUrl = `http://${reachable(listen.EDGE_LISTEN)}`;
  const pictures = own["PICTURES_URL"] || `http://${reachable(listen.GAME_PICTURES_LISTEN)}`;
  const pairs = Object.entries(tokens).map(([role, token]) => `${role}=${token}`);
  if (chatToken) pairs.push(`operator:demo-chat@${chatToken.workspaceId}=${chatToken.token}`);
  return {
    core: {
      ...shared,
      REDIS_URL: redisUrl,
      SECRETS_KEY: [own["SECRETS_KEY"] ?? "", secretsKey].join(","),
      CORE_TOKENS: [...pairs, own["CORE_TOKENS"] ?? ""].join(","),
      CORE_LISTEN: formatHostPort(listen.CORE_LISTEN),
      HEALTH_LISTEN: formatHostPort(listen.CORE_HEALTH_LISTEN),
      ...(certificate && {
        PUSH_ALLOW: [own["PUSH_ALLOW"] ?? "", addressesOf(reachableHost(listen.CHAT_PUSH_LISTEN))].join(","),
        PUSH_CA: rootsWith(certificate, own["PUSH_CA"]),
      }),
    },
    edge: {
      ...shared,
      CORE_ADDRESS: reachable(listen.CORE_LISTEN),
      CORE_TOKEN: tokens.edge,
      EDGE_LISTEN: formatHostPort(listen.EDGE_LISTEN),
      DASHBOARD_LISTEN: formatHostPort(listen.DASHBOARD_LISTEN),
      PUBLIC_URL: own["PUBLIC_URL"] || edgeUrl,
      HEALTH_LISTEN: formatHostPort(listen.EDGE_HEALTH_LISTEN),
      ...(chatToken && {
        DEMO_WORKSPACE_ID: chatToken.workspaceId,
        DEMO_CHAT_URL: `http://${reachable(listen.CHAT_LISTEN)}`,
      }),
    },
    game: {
      ...shared,
      CORE_ADDRESS: reachable(listen.CORE_LISTEN),
      CORE_TOKEN: tokens.game,
      PICTURES_LISTEN: formatHostPort(listen.GAME_PICTURES_LISTEN),
      PICTURES_URL: pictures,
      HEALTH_LISTEN: formatHostPort(listen.GAME_HEALTH_LISTEN),
    },
    chat: {
      ...shared,
      BASE_URL: edgeUrl,
      CHAT_LISTEN: formatHostPort(listen.CHAT_LISTEN),
      IMAGE_SOURCES: own["IMAGE_SOURCES"] || `https: ${new URL(pictures).origin}`,
      HEALTH_LISTEN: formatHostPort(listen.CHAT_HEALTH_LISTEN),
      DASHBOARD_URL: `http://${reachable(listen.DASHBOARD_LISTEN)}`,
      ...(chatToken && { DASHBOARD_TOKEN: chatToken.token }),
      ...(certificate && {
        PUSH_TLS_CERT: certificate.certPath,
        PUSH_TLS_KEY: certificate.keyPath,
        PUSH_LISTEN: formatHostPort(listen.CHAT_PUSH_LISTEN),
        TARGET_URL: chatTargetUrl(listen),
        MODE_SOCKET: SWITCH_SOCKET,
      }),
    },
  };
}

/** Returns the variables in the environment of `npm start` that are passed to all processes. */
export function sharedEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(own).filter(([name]) => !NOT_PASSED_ON.test(name) && !CORE_ONLY.includes(name)),
  );
}

/** Returns the URL at which the chat receives pushes. */
export function chatTargetUrl({ CHAT_PUSH_LISTEN }: ListenAddresses): string {
  return `https://${reachable(CHAT_PUSH_LISTEN)}/pushes`;
}

/** Returns the addresses of a host, as CIDRs separated by commas. Any host name is taken for a name of this machine. */
export function addressesOf(host: string): string {
  const bits = { 0: undefined, 4: 32, 6: 128 }[isIP(host)];
  return bits === undefined ? "127.0.0.1/32,::1/128" : `${host}/${bits}`;
}
