import { LOG_LEVELS } from "../../runtime/logger";
import type { Settings } from "../../runtime/settings";
import {
  choice,
  hostPort,
  httpUrl,
  optionalFile,
  secret,
  text,
  type Setting,
  type ValuesOf,
} from "./setting";

/** A UUID, as the dashboard shows it. */
const UUID_FORM = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The values of the settings that every bridge has. */
export type BridgeSettings = ValuesOf<typeof BRIDGE_SETTINGS>;

/** The settings that every bridge has. */
export const BRIDGE_SETTINGS = {
  BASE_URL: httpUrl("URL of the service, as the dashboard shows it, e.g. https://bridges.example.org"),
  WORKSPACE_ID: workspaceId("id of the workspace, from the dashboard"),
  SIGNING_SECRET: secret("signing secret of the workspace, which the dashboard shows once"),
  STATE_FOLDER: text("folder that the bridge creates, and in which it keeps its state", "./state"),
  MODE: choice("whether the bridge polls, or the service pushes to the bridge", ["poll", "push"], "poll"),
  LISTEN: hostPort("with MODE=push: address at which the bridge receives pushes", "0.0.0.0:8443"),
  TLS_CERT: optionalFile("with MODE=push: certificate chain in PEM; none if a proxy terminates TLS"),
  TLS_KEY: optionalFile("with MODE=push: key of the certificate in PEM"),
  HEALTH_LISTEN: hostPort("address of GET /health, e.g. 127.0.0.1:9090"),
  COMMAND_PREFIX: typedWord("prefix of commands and choices", "!"),
  COMMAND_WORD: typedWord("command that members type after the prefix", "play"),
  STATUS_COMMAND: typedWord(
    "word that members type after the command to ask for the state of the bridge; off for none",
    "status",
  ),
  LOG_LEVEL: choice("how much is logged", LOG_LEVELS, "info"),
};

/** Reports invalid combinations of settings. */
export function checkBridgeSettings(values: BridgeSettings, settings: Pick<Settings, "fault">): void {
  if ((values.TLS_CERT === undefined) !== (values.TLS_KEY === undefined)) {
    settings.fault("TLS_CERT and TLS_KEY must be set together");
  }
}

function workspaceId(what: string): Setting<string> {
  return { what, fallback: undefined, read: (settings, name) => settings.parsed(name, what, parseUuid) };
}

function parseUuid(value: string): string {
  if (!UUID_FORM.test(value)) throw new Error("must be a UUID");
  return value;
}

/** Text without spaces, because members type more words after this text. */
function typedWord(what: string, fallback: string): Setting<string> {
  return { what, fallback, read: (settings, name) => settings.parsed(name, what, parseWord, fallback) };
}

function parseWord(value: string): string {
  if (/\s/u.test(value) || value.length > 20) throw new Error("must be at most 20 characters without spaces");
  return value;
}
