import { createBridge, dmChannel, type Bridge } from "chat-bridge-kit";
import { kitOptions, type BridgeSettings, type Logger } from "chat-bridge-runner";
import { createBackground } from "./background";
import { readChatId } from "./chat/chat-id";
import { keycapCount } from "./chat/choices";
import { createDirectRooms } from "./chat/direct-rooms";
import { createEncryptedRooms } from "./chat/encrypted-rooms";
import { createKeycapReactions } from "./chat/keycap-reactions";
import { createMatrixChat } from "./chat/matrix-chat";
import { createPictures } from "./chat/pictures";
import { createTimelineStates } from "./chat/timeline-states";
import type { SyncAnswer } from "./client/events";
import type { MatrixApi } from "./client/matrix-api";
import { createIds } from "./ids";
import { createInvites } from "./inbound/invites";
import { createNames } from "./inbound/names";
import { createReporter } from "./inbound/reporter";
import { createSyncHandler } from "./inbound/sync-handler";
import type { MatrixSettings } from "./settings";

/** Milliseconds after which a call to the homeserver counts as refused: a game's update is stale after 10 minutes. */
const CHAT_TIMEOUT_MS = 10 * 60_000;
/** Maximum number of channels, and of newest messages in each channel, whose keycaps are repaired at the start. */
const REPAIRED_CHANNELS = 100;
const REPAIRED_MESSAGES = 3;

export interface RoomsParts {
  readonly settings: BridgeSettings & MatrixSettings;
  readonly api: MatrixApi;
  /** Id of the bridge's account. */
  readonly userId: string;
  readonly log: Logger;
  /** Aborted when the bridge stops. */
  readonly signal: AbortSignal;
}

/** The bridge between the rooms of an account and a workspace. */
export interface ConnectedRooms {
  readonly userId: string;
  readonly bridge: Bridge;
  /** Reads the list of direct rooms from the homeserver, and registers the ids of rooms and members. */
  open(joined: readonly string[]): Promise<void>;
  /** Starts the kit's bridge. Resolves and rejects like `Bridge.start`. */
  start(joined: readonly string[]): Promise<void>;
  handleSync(answer: SyncAnswer, since: string | undefined): Promise<void>;
}

/** Connects the parts of the bridge. */
export function connectRooms({ settings, api, userId, log, signal }: RoomsParts): ConnectedRooms {
  const warn = (message: string) => (error: unknown) =>
    log.warn({ problem: (error as Error).message }, message);
  const ids = createIds();
  const background = createBackground(signal, warn("a request to the homeserver was dropped"));
  const direct = createDirectRooms(api, userId);
  const encrypted = createEncryptedRooms(api);
  const keycaps = createKeycapReactions(api, userId, background);
  const timeline = createTimelineStates();
  const names = createNames(api);
  const pictures = createPictures({
    api,
    allow: settings.MATRIX_IMAGE_ALLOW,
    onFailure: (problem) => log.warn({ problem }, "an image is shown as a link"),
  });
  const chat = createMatrixChat({
    api,
    ids,
    direct,
    encrypted,
    pictures,
    keycaps,
    timeline,
    prefix: settings.COMMAND_PREFIX,
    shown: (chatId) => bridge.shown(chatId),
  });

  const bridge: Bridge = createBridge({
    ...kitOptions(settings, log),
    chat,
    chatTimeoutMs: CHAT_TIMEOUT_MS,
    // The homeserver refuses messages for rooms that the bridge is not in, but it invites any member of any server.
    onlyReported: "members",
  });

  const invites = createInvites({
    api,
    own: userId,
    direct,
    encrypted,
    log,
    signal,
    allowed: settings.MATRIX_ALLOW_INVITES,
  });
  const reporter = createReporter({ bridge, api, names, ids, background, log, signal });
  const handleSync = createSyncHandler({
    bridge,
    api,
    own: userId,
    typing: settings,
    chat,
    direct,
    timeline,
    names,
    ids,
    invites,
    reporter,
    log,
    signal,
  });

  /** Repairs the keycaps of the newest messages, because the last run may have stopped before changing the keycaps. */
  function repairKeycaps(joined: readonly string[]): void {
    const channels = [...joined, ...direct.members().map((user) => dmChannel(ids.toService(user)))];
    for (const channel of channels.slice(0, REPAIRED_CHANNELS)) {
      const newest = bridge.shownIn(channel.startsWith("!") ? ids.toService(channel) : channel);
      for (const { chatMessageIds, message, eventId: cause } of newest.slice(0, REPAIRED_MESSAGES)) {
        const [first] = chatMessageIds;
        if (first !== undefined) keycaps.want({ ...readChatId(first), count: keycapCount(message), cause });
      }
    }
  }

  return {
    userId,
    bridge,
    handleSync,
    async open(joined) {
      // Registers the digests of room ids that are too long for the service.
      for (const roomId of joined) ids.toService(roomId);
      await direct.load();
      for (const member of direct.members()) ids.toService(member);
    },
    async start(joined) {
      await bridge.start();
      repairKeycaps(joined);
    },
  };
}
