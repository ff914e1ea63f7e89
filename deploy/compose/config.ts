import { readSettings } from "../../runtime/settings";

export interface ComposeConfig {
  /** Folder of all secrets. Each kind of container has its own subfolder, which is a separate volume. */
  readonly secretsDir: string;
  /** Address of core (host:port) at which the demo workspace is created. */
  readonly coreAddress: string;
  /** Addresses of the dashboard: `inside` for containers, `outside` for browsers. */
  readonly dashboard: { readonly inside: string; readonly outside: string };
}

/** Reads the settings that docker-compose.yml gives to the commands in main.ts. Throws SettingsError. */
export function readComposeConfig(environment: NodeJS.ProcessEnv): ComposeConfig {
  return readSettings(environment, (settings) => ({
    secretsDir: settings.text("SECRETS_DIR", "the folder of all secrets", "/secrets"),
    coreAddress: settings.text("CORE_ADDRESS", "the address of core, host:port", "core:50051"),
    dashboard: {
      inside: settings.text(
        "DASHBOARD_INSIDE",
        "the dashboard's address for containers",
        "http://dashboard:8082",
      ),
      outside: settings.text("DASHBOARD_URL", "the dashboard's address for people", "http://127.0.0.1:8082"),
    },
  }));
}
