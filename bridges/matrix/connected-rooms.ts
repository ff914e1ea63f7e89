import { join } from "node:path";
import { createBridge, dmChannel, type Bridge } from "chat-bridge-kit";
import { kitOptions, withStatus, type BridgeSettings, type Logger } from "chat-bridge-runner";
import { createBackground, type Background } from "./background";
import { readChatId } from "./chat/chat-id";
import { keycapCount } from "./chat/choices";
import { toNotice } from "./chat/content";
import { createDirectRooms, type DirectRoomIndex } from "./chat/direct-rooms";
import { createEncryptedRooms } from "./chat/encrypted-rooms";
import { createPowerNotice } from "./chat/power-notice";
import { createRoomPowers } from "./chat/room-powers";
import { createKeycapReactions, type KeycapReactions } from "./chat/keycap-reactions";
import { MatrixChat } from "./chat/matrix-chat";
import { createPictures, type Pictures } from "./chat/pictures";
import { createTimelineStates } from "./chat/timeline-states";
import { createUnsavedEvents, type UnsavedEvents } from "./chat/unsaved-events";
import type { MatrixApi } from "./client/matrix-api";
import type { RoomCrypto } from "./crypto/room-crypto";
import { createSeal } from "./crypto/seal";
import { createIds, type Ids } from "./ids";
import { createDirectHelp } from "./inbound/direct-help";
import { createInvites } from "./inbound/invites";
import { createNames } from "./inbound/names";
import { Reporter } from "./inbound/reporter";
import { SyncHandler } from "./inbound/sync-handler";
import { Upgrades } from "./inbound/upgrades";
import { RoomList } from "./room-list";
import type { MatrixSettings } from "./settings";
import { stateFile } from "./state-file";
import { createNotifiedRooms, type NotifiedRooms } from "./notified-rooms";

/** Milliseconds after which a call to the homeserver counts as refused, because a game's update is then stale. */
const CHAT_TIMEOUT_MS = 10 * 60_000;
/** Maximum number of channels, and of newest messages in each channel, whose keycaps are repaired at the start. */
const REPAIRED_CHANNELS = 100;
const REPAIRED_MESSAGES = 3;

const MUTED = "an update waits: the bridge may not send messages in the room";

export interface RoomsParts {
  readonly settings: BridgeSettings & MatrixSettings;
  /** Name and version of the program. */
  readonly program: string;
  readonly api: MatrixApi;
  /** Id of the bridge's account. */
  readonly userId: string;
  /** Undefined if the bridge does not support encrypted rooms. */
  readonly crypto: RoomCrypto | undefined;
  readonly log: Logger;
  /** Aborted when the bridge stops. */
  readonly signal: AbortSignal;
}

/** The bridge between the rooms of an account and a workspace. */
export class ConnectedRooms {
  readonly bridge: Bridge;
  /** Handles the answers of the sync. */
  readonly sync: SyncHandler;
  readonly #ids = createIds();
  readonly #direct: DirectRoomIndex;
  readonly #keycaps: KeycapReactions;
  readonly #unsaved: UnsavedEvents;
  readonly #told: NotifiedRooms;
  readonly #signal: AbortSignal;
  /** The rooms that the bridge is in. */
  readonly list: RoomList;

  constructor({ settings, program, api, userId, crypto, log, signal }: RoomsParts) {
    const ids = this.#ids;
    this.#signal = signal;
    const warn = (message: string) => warner(log, message);
    const background = createBackground(signal, warn("a request to the homeserver was dropped"));
    const direct = createDirectRooms(api, userId, crypto?.canDecrypt);
    const encrypted = createEncryptedRooms(api, crypto);
    if (crypto !== undefined) api.seal = createSeal(crypto, encrypted);
    const keycaps = createKeycapReactions(api, userId, background);
    const timeline = createTimelineStates();
    const unsaved = createUnsavedEvents(signal);
    const names = createNames(api);
    const powers = createRoomPowers(api, userId);
    const list = new RoomList({ direct, powers, names, ids });
    const told = createNotifiedRooms(
      toldFileIn(settings.STATE_FOLDER),
      warn("cannot save which rooms have got a notice about missing powers"),
    );
    const chat = new MatrixChat({
      api,
      ids,
      direct,
      encrypted,
      powers,
      pictures: picturesOf({ settings, api, crypto, log, signal }),
      keycaps,
      background,
      timeline,
      unsaved,
      powerNotice: createPowerNotice({ api, powers, direct, told, background }),
      settings,
      stopped: signal,
      onMuted: (roomId) => log.warn({ roomId }, MUTED),
      shown: (chatId) => this.bridge.shown(chatId),
    });
    const bridge = createBridge({
      ...optionsOf(settings, log, unsaved),
      chat,
      chatTimeoutMs: CHAT_TIMEOUT_MS,
      // The kit need not check channels, because the homeserver refuses messages for rooms that the bridge is not in.
      // The kit checks members, because the homeserver lets the bridge invite anyone from any server.
      onlyReported: "members",
    });
    const reported = withStatus(bridge, {
      program,
      settings,
      rooms: () => list.states(),
      answer: statusAnswer({ api, ids, background }),
    });
    const allowed = settings.MATRIX_ALLOW_INVITES;
    const invites = createInvites({ api, own: userId, direct, encrypted, log, signal, allowed });
    const directHelp = createDirectHelp({ api, rooms: list, names, background, typing: settings });
    this.sync = new SyncHandler({
      bridge,
      api,
      own: userId,
      typing: settings,
      direct,
      timeline,
      unsaved,
      names,
      ids,
      invites,
      upgrades: new Upgrades({ api, direct, typing: settings, settle: invites.settle, log, signal }),
      powers,
      roomList: list,
      reporter: new Reporter({ bridge: reported, api, names, ids, background, directHelp, log, signal }),
      crypto,
      log,
      signal,
    });
    this.bridge = bridge;
    this.#direct = direct;
    this.#keycaps = keycaps;
    this.#unsaved = unsaved;
    this.#told = told;
    this.list = list;
  }

  /** Reads the list of direct rooms from the homeserver, and registers the ids of rooms and members. */
  async open(joined: readonly string[]): Promise<void> {
    // Registers the digests of room ids that are too long for the service.
    for (const roomId of joined) {
      this.#ids.toService(roomId);
      this.list.joined(roomId);
    }
    await Promise.all([this.#direct.load(), this.#told.load()]);
    for (const member of this.#direct.members()) this.#ids.toService(member);
  }

  /**
   * Starts the kit's bridge. Resolves once the kit has saved the messages that the last run may have shown without
   * saving them, because members may already have answered them. Rejects like `Bridge.start`, and when the bridge
   * stops.
   */
  async start(joined: readonly string[]): Promise<void> {
    void this.list.read(this.#signal);
    await this.bridge.start();
    await this.#unsaved.untilAllSaved();
    this.#repairKeycaps(joined);
  }

  /** Repairs the keycaps of the newest messages, because the last run may have stopped before changing the keycaps. */
  #repairKeycaps(joined: readonly string[]): void {
    const [ids, direct] = [this.#ids, this.#direct];
    const channels = [...joined, ...direct.members().map((user) => dmChannel(ids.toService(user)))];
    for (const channel of channels.slice(0, REPAIRED_CHANNELS)) {
      const newest = this.bridge.shownIn(channel.startsWith("!") ? ids.toService(channel) : channel);
      for (const { chatMessageIds, message, eventId: cause } of newest.slice(0, REPAIRED_MESSAGES)) {
        const [current, last] = chatMessageIds.toReversed();
        if (current !== undefined) {
          this.#keycaps.want({ ...readChatId(current), count: keycapCount(message), cause });
        }
        // The event before the newest one is a closed question, so it has no keycaps.
        if (last !== undefined) this.#keycaps.want({ ...readChatId(last), count: 0, cause });
      }
    }
  }
}

/** Returns the options of the kit. The store in these options tells `unsaved` which events it has saved. */
function optionsOf(settings: RoomsParts["settings"], log: Logger, unsaved: UnsavedEvents) {
  const options = kitOptions(settings, log);
  const { messages } = options.store;
  const store: typeof options.store = {
    ...options.store,
    messages: {
      load: () => messages.load(),
      save: (message) => messages.save(message).finally(() => unsaved.end(message.eventId)),
    },
  };
  return { ...options, store };
}

/** Returns a function that posts the answer to `!play status` in the background. */
function statusAnswer(parts: {
  readonly api: MatrixApi;
  readonly ids: Ids;
  readonly background: Background;
}): Parameters<typeof withStatus>[1]["answer"] {
  const { api, ids, background } = parts;
  return (text, { channel, id = "" }) => {
    const roomId = ids.toMatrix(typeof channel === "string" ? channel : channel.id);
    background.add(roomId, `status ${id}`, async (stopped) => {
      await api.send(roomId, "m.room.message", `${id}.status`, toNotice(text), stopped);
    });
  };
}

/** Returns a function that logs the message of an error. */
function warner(log: Logger, message: string): (error: unknown) => void {
  return (error) => log.warn({ problem: (error as Error).message }, message);
}

function toldFileIn(folder: string) {
  return stateFile<readonly string[]>(join(folder, "told-rooms.json"));
}

function picturesOf(parts: Pick<RoomsParts, "settings" | "api" | "crypto" | "log" | "signal">): Pictures {
  const { settings, api, crypto, log, signal } = parts;
  return createPictures({
    api,
    encryptFile: crypto?.encryptFile,
    allow: settings.MATRIX_IMAGE_ALLOW,
    signal,
    onFailure: (problem) => log.warn({ problem }, "an image is shown as a link"),
  });
}
