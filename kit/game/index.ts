export { createGame, Game, type ActionOptions, type GameOptions } from "./game";
export { link, md, type Button, type Content, type MessageContent } from "./content";
export { SYSTEM_CLOCK, type GameClock } from "./clock";
export { CoreRejects, type CoreLink, type FollowListener, type OpenStream } from "./core-link";
export type { WorkspaceDocument } from "./document";
export type { Duration } from "./duration";
export { GameRun, type GameRunOptions } from "./game-run";
export type { Json } from "./json";
export type { GameLog } from "./log";
export type { RunCounts } from "./run-counts";
export { memoryStore, type GameStore, type StoredDocument, type Wake } from "./store";
export type {
  AnswerToken,
  AskOptions,
  EphemeralOptions,
  Member,
  MemberTurn,
  MessageRef,
  PressTurn,
  TimerToken,
  Turn,
} from "./turn";
export { displayName, escapeLine, escapeText } from "../message-text-escape";
export { fileStore, type FileStoreOptions } from "./file-store";
export { GrpcLink, type GrpcLinkOptions } from "./grpc-link";
export { redisStore, type RedisStoreOptions } from "./redis-store";
export { startGame, type RunningGame, type StartOptions } from "./start";
export type { SettingOptions } from "./settings";
