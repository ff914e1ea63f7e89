import { resolve } from "node:path";
import { readSettings, type HostPort } from "../runtime/settings";

/** The settings of the four listeners, in the order in which they are told of. */
export const LISTENERS = {
  EDGE_LISTEN: { what: "where bridges are served", fallback: "127.0.0.1:8080" },
  CORE_LISTEN: { what: "where games and operators are served (gRPC)", fallback: "127.0.0.1:50051" },
  EDGE_HEALTH_LISTEN: { what: "where the edge answers probes", fallback: "127.0.0.1:8081" },
  CORE_HEALTH_LISTEN: { what: "where core answers probes", fallback: "127.0.0.1:50052" },
} as const;

export type Listener = keyof typeof LISTENERS;
export type ListenAddresses = Readonly<Record<Listener, HostPort>>;

/** What `npm start` can be told. */
export interface StartSettings {
  /** Absolute. */
  readonly dataDir: string;
  /** Unset: a private Redis is started. */
  readonly redisUrl: string | undefined;
  /** Port 0: any that is free. */
  readonly listen: ListenAddresses;
}

/** Reads the settings from the environment; the README's table describes them. Throws SettingsError. */
export function readStartSettings(environment: NodeJS.ProcessEnv): StartSettings {
  return readSettings(environment, (settings) => {
    const address = (name: Listener): HostPort =>
      settings.hostPort(name, `${LISTENERS[name].what}, host:port`, LISTENERS[name].fallback);
    return {
      dataDir: resolve(settings.text("DATA_DIR", "the folder of everything that is kept", ".data")),
      redisUrl: environment["REDIS_URL"] || undefined,
      listen: {
        EDGE_LISTEN: address("EDGE_LISTEN"),
        CORE_LISTEN: address("CORE_LISTEN"),
        EDGE_HEALTH_LISTEN: address("EDGE_HEALTH_LISTEN"),
        CORE_HEALTH_LISTEN: address("CORE_HEALTH_LISTEN"),
      },
    };
  });
}
