import { readSettings } from "../runtime/settings";

export interface ComposeConfig {
  /** One folder a reader below it, each a volume of its own. */
  readonly secretsDir: string;
  /** Where core is, for who makes the demo workspace. */
  readonly coreAddress: string;
  /** Where the dashboard is, as containers reach it and as people do. */
  readonly dashboard: { readonly inside: string; readonly outside: string };
}

/** Reads what docker-compose.yml tells the one-shot programs. Throws SettingsError. */
export function readComposeConfig(environment: NodeJS.ProcessEnv): ComposeConfig {
  return readSettings(environment, (settings) => ({
    secretsDir: settings.text("SECRETS_DIR", "the folder below which secrets are kept", "/secrets"),
    coreAddress: settings.text("CORE_ADDRESS", "where core is, host:port", "core:50051"),
    dashboard: {
      inside: settings.text("DASHBOARD_INSIDE", "where containers reach it", "http://dashboard:8082"),
      outside: settings.text("DASHBOARD_URL", "where people reach the dashboard", "http://127.0.0.1:8082"),
    },
  }));
}
