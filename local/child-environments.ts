import { formatHostPort } from "../runtime/settings";
import { reachable } from "./listen-addresses";
import type { KeptSettings } from "./settings-file";
import type { ListenAddresses } from "./start-settings";

/** Certificates are for processes apart, and core and the edge mean different ones by these names. */
const NOT_PASSED_ON = /^CORE_TLS_/;
/** What the edge is better off not to know. */
const CORE_ONLY = ["REDIS_URL", "SECRETS_KEY", "CORE_TOKENS"];

/**
 * What core and the edge are told: where they are, what is kept for them, and
 * the further settings of our own environment. Keys and tokens that someone set
 * hold beside the kept ones.
 */
export function childEnvironments(
  own: NodeJS.ProcessEnv,
  listen: ListenAddresses,
  { tokens, secretsKey }: KeptSettings,
  redisUrl: string,
): Readonly<Record<"core" | "edge", NodeJS.ProcessEnv>> {
  const shared = Object.fromEntries(
    Object.entries(own).filter(([name]) => !NOT_PASSED_ON.test(name) && !CORE_ONLY.includes(name)),
  );
  const pairs = Object.entries(tokens).map(([role, token]) => `${role}=${token}`);
  return {
    core: {
      ...shared,
      REDIS_URL: redisUrl,
      SECRETS_KEY: [own["SECRETS_KEY"] ?? "", secretsKey].join(","),
      CORE_TOKENS: [...pairs, own["CORE_TOKENS"] ?? ""].join(","),
      CORE_LISTEN: formatHostPort(listen.CORE_LISTEN),
      HEALTH_LISTEN: formatHostPort(listen.CORE_HEALTH_LISTEN),
    },
    edge: {
      ...shared,
      CORE_ADDRESS: reachable(listen.CORE_LISTEN),
      CORE_TOKEN: tokens.edge,
      EDGE_LISTEN: formatHostPort(listen.EDGE_LISTEN),
      HEALTH_LISTEN: formatHostPort(listen.EDGE_HEALTH_LISTEN),
    },
  };
}
