/**
 * The code that all bridges share: settings with help, a health listener, a log, a graceful stop, and typed commands.
 */

export {
  blocks,
  choice,
  flag,
  hostPort,
  httpUrl,
  integer,
  list,
  optional,
  optionalFile,
  optionalSecret,
  secret,
  text,
  type Setting,
  type SettingTable,
  type ValuesOf,
} from "./setting";
export { BRIDGE_SETTINGS, type BridgeSettings } from "./bridge-settings";
export { kitOptions } from "./kit-options";
export type { ConnectionState } from "./health";
export { isStatusCommand, withStatus } from "./status";
export type { RoomState } from "./rooms";
export type { Answers, BridgeInit, Finding, Question } from "./init/bridge-init";
export { certificateAdvice } from "./init/certificate-advice";
export { runBridgeProgram, type BridgeProgram, type RunningBridge, type Tools } from "./run-bridge-program";
export { asksForHelp, PROMPTS_SEEN, readChoice, readCommand } from "chat-bridge-kit";
export { isInBlocks, whyNotPublic, type AddressBlock } from "../../runtime/public-address";
export { formatHostPort, isLoopback, SettingsError, type HostPort } from "../../runtime/settings";
export type { Logger } from "pino";
