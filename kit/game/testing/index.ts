export {
  testGame,
  TestChannel,
  TestChat,
  TestClock,
  TestMember,
  type MemberOptions,
  type SeenButton,
  type TestGameOptions,
} from "./test-game";
export {
  CoreUnavailable,
  InvalidCall,
  MemoryCore,
  type Finding,
  type MemoryStream,
  type MemoryWorkspace,
  type Occurrence,
  type SentEvent,
  type ShownMessage,
  type StreamOpen,
} from "./memory-core";
export { MemoryLink, type MemoryLinkOptions } from "./memory-link";
export { VirtualClock } from "./virtual-clock";
