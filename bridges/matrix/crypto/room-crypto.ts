import type { CrossSigningKeyExport, UserId } from "@matrix-org/matrix-sdk-crypto-wasm" with {
  "resolution-mode": "import",
};
import type { Logger } from "chat-bridge-runner";
import { KEY_WITHHELD, type KeyChanges, type MatrixEvent } from "../client/events";
import { isFields, type Fields } from "../client/fields";
import type { MatrixApi, SentEvent } from "../client/matrix-api";
import { untilAnswered } from "../client/retrying";
import { createLateEvents, type LateEvent } from "./late-events";
import { openDevice, type OpenDevice } from "./open-device";
import { publishOwnDevice } from "./own-device";
import { createRecipients, type Recipients } from "./recipients";

export interface RoomCryptoParts {
  readonly api: Pick<MatrixApi, "postKeys" | "sendToDevice" | "members" | "state">;
  readonly userId: string;
  /** The bridge's state folder. */
  readonly folder: string;
  readonly log: Logger;
  /** Aborted when the bridge stops. */
  readonly signal: AbortSignal;
}

/** The codes with which a client says that it sends no keys to the bridge's device. */
const WITHHELD = ["m.unverified", "m.blacklisted"];

/** An encrypted file, and the keys that the event with the file contains. */
export interface EncryptedFile {
  readonly bytes: Buffer;
  readonly keys: object;
}

/** Encrypts and decrypts the events of rooms, and exchanges keys with the devices of the members. */
export class RoomCrypto {
  readonly recipients: ReturnType<typeof createRecipients>;
  readonly #parts: RoomCryptoParts;
  #device: OpenDevice;
  readonly #late = createLateEvents();
  /**
   * The last call of `encrypt` in each room. The calls run one after another, because only one call at a time may share
   * a room's keys.
   */
  readonly #turns = new Map<string, Promise<unknown>>();

  private constructor(device: OpenDevice, parts: RoomCryptoParts) {
    this.recipients = createRecipients(parts.api);
    this.#parts = parts;
    this.#device = device;
  }

  /** Reads the keys of a device from the state folder, or creates them. */
  static async open(deviceId: string, parts: RoomCryptoParts): Promise<RoomCrypto> {
    return new RoomCrypto(await openDevice(deviceId, parts), parts);
  }

  /**
   * Publishes the keys of the device. Called after each login.
   *
   * @param renew logs in as a new device, and resolves to its id: see `publishOwnDevice`
   */
  async publish(renew: () => Promise<string>): Promise<void> {
    const { api, log, signal } = this.#parts;
    let identity: CrossSigningKeyExport | undefined;
    for (;;) {
      const { sdk, machine, requests, save } = this.#device;
      const parts = { sdk, machine, api, requests, save, log };
      if (await publishOwnDevice(parts, identity, signal)) return;
      log.warn("the homeserver or the state folder lost the keys of the device: logging in as a new device");
      identity = await machine.exportCrossSigningKeys();
      const next = await openDevice(await renew(), this.#parts);
      await this.#device.remove();
      this.#device = next;
    }
  }

  /**
   * Reads the keys in the answer of a sync. Once the keys are saved, resolves to the earlier events that can now be
   * decrypted. Rejects only when the bridge stops.
   *
   * @param isFirst whether the bridge had no position to continue from when it asked for this answer
   */
  async receive(keys: KeyChanges, isFirst: boolean): Promise<readonly LateEvent[]> {
    const { log, signal } = this.#parts;
    try {
      if (isFirst) {
        this.recipients.allChanged();
        await this.#device.machine.markAllTrackedUsersAsDirty();
      }
      await this.#receive(keys);
      await this.#device.removeSurplus();
    } catch (error) {
      log.error({ err: error }, "skipped the keys in an answer of the homeserver");
    }
    // The homeserver deletes these keys after the next sync.
    await untilAnswered(() => this.#device.save(), {
      signal,
      onFailure: (error) => log.error({ problem: (error as Error).message }, "cannot save keys: retrying"),
    });
    this.#device.requests.sendWaiting(signal).catch(() => {
      // The library returns the requests again after the next sync.
    });
    return keys.toDevice.length === 0 ? [] : this.#readLate();
  }

  async #receive({ toDevice, changed, left, oneTimeKeys, unusedFallbackKeys }: KeyChanges): Promise<void> {
    const lists = new this.#device.sdk.DeviceLists(this.#userIds(changed), this.#userIds(left));
    const counts = new Map(Object.entries(oneTimeKeys));
    const unused = unusedFallbackKeys && new Set(unusedFallbackKeys);
    await this.#device.machine.receiveSyncChanges(JSON.stringify(toDevice), lists, counts, unused);
  }

  /**
   * Resolves to the events, decrypted. Leaves out events that cannot be decrypted: `receive` returns some of them later.
   * An event of a member whose client does not send its keys gets the type `KEY_WITHHELD`.
   */
  async read(roomId: string, events: readonly MatrixEvent[]): Promise<readonly MatrixEvent[]> {
    const { userId, log } = this.#parts;
    const readable: MatrixEvent[] = [];
    for (const event of events) {
      // The bridge reads only the relations of its own events, and relations are not encrypted.
      const isReadable = event.type !== "m.room.encrypted" || event.state_key !== undefined;
      if (isReadable || event.sender === userId) {
        readable.push(event);
        continue;
      }
      const decrypted = await this.#decrypt(roomId, event);
      if (decrypted === "withheld") {
        readable.push({ ...event, type: KEY_WITHHELD, content: {} });
      } else if (decrypted !== undefined) readable.push(decrypted);
      else {
        this.#late.add(roomId, event);
        log.info({ roomId, eventId: event.event_id }, "cannot decrypt a message: waiting for its key");
      }
    }
    return readable;
  }

  async #readLate(): Promise<readonly LateEvent[]> {
    const readable: LateEvent[] = [];
    for (const late of this.#late.take()) {
      const event = await this.#decrypt(late.roomId, late.event);
      if (event === undefined) this.#late.putBack(late);
      else if (event !== "withheld") readable.push({ ...late, event });
    }
    return readable;
  }

  /** Resolves to undefined if the key is unknown, and to "withheld" if the member's client does not send the key. */
  async #decrypt(roomId: string, event: MatrixEvent): Promise<MatrixEvent | "withheld" | undefined> {
    const { RoomId, DecryptionSettings, ShieldStateCode, TrustRequirement } = this.#device.sdk;
    const settings = new DecryptionSettings(TrustRequirement.Untrusted);
    try {
      const answer = await this.#device.machine.decryptRoomEvent(
        JSON.stringify(event),
        new RoomId(roomId),
        settings,
      );
      // The library reports this fault, but decrypts the event: the key is from a device of another member.
      if (answer.shieldState(false).code === ShieldStateCode.MismatchedSender) return undefined;
      const { type, content } = JSON.parse(answer.event) as Fields;
      // Members can encrypt any JSON.
      if (typeof type !== "string" || !isFields(content)) return undefined;
      return { ...event, type, content };
    } catch (error) {
      // The text of the error can contain parts of the event.
      const { withheldCode = "" } = error as { readonly withheldCode?: string };
      return WITHHELD.includes(withheldCode) ? "withheld" : undefined;
    }
  }

  /** Resolves to the encrypted event. First shares the key with all devices of the members. */
  encrypt(roomId: string, event: SentEvent, signal: AbortSignal): Promise<SentEvent> {
    const turn = (this.#turns.get(roomId) ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => this.#encrypt(roomId, event, signal))
      .finally(() => {
        if (this.#turns.get(roomId) === turn) this.#turns.delete(roomId);
      });
    this.#turns.set(roomId, turn);
    return turn;
  }

  async #encrypt(roomId: string, { type, content }: SentEvent, signal: AbortSignal): Promise<SentEvent> {
    signal.throwIfAborted();
    const { machine, requests, sdk, save } = this.#device;
    const recipients = await this.recipients.of(roomId);
    const users = (): UserId[] => this.#userIds(recipients.members);
    await machine.updateTrackedUsers(users());
    await requests.sendWaiting(signal);
    const claim = await machine.getMissingSessions(users());
    if (claim != null) await requests.send(claim, signal);
    const shares = await machine.shareRoomKey(new sdk.RoomId(roomId), users(), this.#settingsOf(recipients));
    for (const share of shares) await requests.send(share, signal);
    const encrypted = await machine.encryptRoomEvent(new sdk.RoomId(roomId), type, JSON.stringify(content));
    // A crash must not undo the step to the next key, because one key must never encrypt two messages.
    await save();
    return { type: "m.room.encrypted", content: JSON.parse(encrypted) as object };
  }

  #settingsOf({ rotationMs, rotationMessages }: Recipients) {
    const settings = new this.#device.sdk.EncryptionSettings();
    settings.sharingStrategy = this.#device.sdk.CollectStrategy.allDevices();
    // The library counts microseconds.
    if (rotationMs !== undefined) settings.rotationPeriod = BigInt(rotationMs) * 1_000n;
    if (rotationMessages !== undefined) settings.rotationPeriodMessages = BigInt(rotationMessages);
    return settings;
  }

  readonly encryptFile = (bytes: Buffer): EncryptedFile => {
    const { encryptedData, mediaEncryptionInfo } = this.#device.sdk.Attachment.encrypt(bytes);
    return { bytes: Buffer.from(encryptedData), keys: JSON.parse(mediaEncryptionInfo ?? "{}") as object };
  };

  /** Whether the bridge has noted that a room is encrypted. The note survives restarts. */
  async isNoted(roomId: string): Promise<boolean> {
    return (await this.#device.machine.getRoomSettings(new this.#device.sdk.RoomId(roomId))) !== undefined;
  }

  /**
   * Notes that a room is encrypted, so that the bridge never sends unencrypted messages there. Never rejects, because
   * the bridge remembers the encrypted room until the next restart in any case.
   */
  async note(roomId: string): Promise<void> {
    const { RoomId, RoomSettings } = this.#device.sdk;
    try {
      if (await this.isNoted(roomId)) return;
      await this.#device.machine.setRoomSettings(new RoomId(roomId), new RoomSettings());
      await this.#device.save();
    } catch (error) {
      this.#parts.log.warn(
        { roomId, problem: (error as Error).message },
        "cannot note that a room is encrypted",
      );
    }
  }

  /** Whether a member has a device that can decrypt messages. */
  readonly canDecrypt = async (userId: string, signal: AbortSignal): Promise<boolean> => {
    await this.#device.machine.updateTrackedUsers(this.#userIds([userId]));
    await this.#device.requests.sendWaiting(signal);
    const [user] = this.#userIds([userId]);
    return user !== undefined && (await this.#device.machine.getUserDevices(user)).devices().length > 0;
  };

  /** Leaves out ids that are not valid. The library takes ownership of the ids, so each call needs new ids. */
  #userIds(ids: readonly string[]): UserId[] {
    return ids.flatMap((id) => {
      try {
        return new this.#device.sdk.UserId(id);
      } catch {
        return [];
      }
    });
  }
}
