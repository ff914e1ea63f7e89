import {
  CannotShow,
  TIMER_MOST_MS,
  type BridgeChat,
  type DmCreate,
  type Message,
  type MessageCreate,
  type MessageEphemeral,
  type ShownMessage,
  type ShownUpdate,
} from "chat-bridge-kit";
import type { MatrixApi } from "../client/matrix-api";
import { MatrixError } from "../client/matrix-error";
import { untilAnswered } from "../client/retrying";
import { withTimeLimit } from "../client/time-limit";
import type { Ids } from "../ids";
import { readChatId, toChatId } from "./chat-id";
import { keycapCount } from "./choices";
import { toContent, toEdit } from "./content";
import type { DirectRoomIndex } from "./direct-rooms";
import type { EncryptedRooms } from "./encrypted-rooms";
import type { KeycapReactions } from "./keycap-reactions";
import { toPictureContent, type Picture, type Pictures } from "./pictures";
import { encryptedRoom, toChatError } from "./to-chat-error";
import type { TimelineStates } from "./timeline-states";
import type { UnsavedEvents } from "./unsaved-events";

export interface MatrixChatParts {
  readonly api: Pick<MatrixApi, "send" | "redact">;
  readonly ids: Ids;
  readonly direct: DirectRoomIndex;
  readonly encrypted: EncryptedRooms;
  readonly pictures: Pictures;
  readonly keycaps: KeycapReactions;
  readonly timeline: TimelineStates;
  readonly unsaved: Pick<UnsavedEvents, "begin" | "end">;
  /** The prefix of typed choices. */
  readonly prefix: string;
  /** Returns the message that the chat shows under an id: see `Bridge.shown`. */
  shown(chatId: string): ShownMessage | undefined;
}

/**
 * Shows the service's messages in Matrix rooms. Every request has a transaction id that is derived from the id of the
 * service's event, so a repeat after a crash has no effect. Calls reject with the errors of `toChatError`.
 */
export class MatrixChat implements BridgeChat {
  readonly #parts: MatrixChatParts;

  constructor(parts: MatrixChatParts) {
    this.#parts = parts;
  }

  post({ channel, id, message }: MessageCreate, signal: AbortSignal): Promise<string[]> {
    return this.#show(id, () => this.#post(this.#parts.ids.toMatrix(channel), id, message, signal));
  }

  dm({ user, id, message }: DmCreate, signal: AbortSignal): Promise<string[]> {
    return this.#show(id, () => this.#postToMember(user, id, message, signal));
  }

  /**
   * Shows an ephemeral message. Retries temporary failures until the message expires, with shorter waits than the
   * kit's.
   */
  ephemeral({ user, id, message, expiresAt }: MessageEphemeral, signal: AbortSignal): Promise<string[]> {
    const leftMs = expiresAt === null ? Infinity : Math.max(0, Date.parse(expiresAt) - Date.now());
    // A wait longer than `TIMER_MOST_MS` needs no timer: Node's timers do not support such a wait, and the kit aborts
    // `signal` much earlier anyway.
    const withinMs = leftMs > TIMER_MOST_MS ? undefined : leftMs;
    const call = (): Promise<string[]> => this.#postToMember(user, id, message, signal);
    return this.#show(id, () =>
      withTimeLimit(withinMs, signal, (limited) => untilAnswered(call, { signal: limited })),
    );
  }

  update(event: ShownUpdate, signal: AbortSignal): Promise<string | readonly string[]> {
    return this.#show(event.id, async () => (await this.#update(event, signal)) ?? []);
  }

  /** Shows an event. Rejects with the error that determines whether and when the kit retries the call. */
  async #show<T>(id: string, call: () => Promise<T>): Promise<T> {
    const { unsaved } = this.#parts;
    unsaved.begin(id);
    try {
      return await call();
    } catch (error) {
      const forKit = toChatError(error);
      // After any other error, the homeserver may have accepted the request although its answer was lost.
      if (forKit instanceof CannotShow) unsaved.end(id);
      throw forKit;
    }
  }

  async #postToMember(user: string, id: string, message: Message, signal: AbortSignal): Promise<string[]> {
    const { direct, ids } = this.#parts;
    return this.#post(await direct.open(ids.toMatrix(user), signal), id, message, signal);
  }

  async #post(roomId: string, id: string, message: Message, signal: AbortSignal): Promise<string[]> {
    const { api, encrypted, pictures, keycaps, timeline, prefix } = this.#parts;
    if (await encrypted.isEncrypted(roomId)) throw encryptedRoom();
    const picture = message.image === null ? undefined : await pictures.upload(message.image, signal);
    const unshown = picture === undefined ? (message.image ?? undefined) : undefined;
    const pictureIds =
      picture === undefined
        ? []
        : [await api.send(roomId, "m.room.message", `${id}.picture`, toPictureContent(picture), signal)];
    const content = toContent(message, prefix, unshown);
    const eventId = await api.send(roomId, "m.room.message", id, content, signal);
    timeline.begin({ eventId, txnId: id, before: undefined, after: message });
    keycaps.want({ roomId, eventId, count: keycapCount(message), cause: id, before: 0 });
    // The id of the text is first, because members react and reply to the text.
    return [eventId, ...pictureIds].map((each) => toChatId(roomId, each));
  }

  /**
   * Applies an update. The kit drops a refused update, so this function retries temporary failures. Resolves to the id
   * of a new image event, if any.
   */
  async #update(event: ShownUpdate, signal: AbortSignal): Promise<string | undefined> {
    const { api, pictures, keycaps, timeline, prefix, shown } = this.#parts;
    const { roomId, eventId } = readChatId(event.chatMessageId);
    const { id, message, chatMessageIds } = event;
    const { image } = message;
    const before = shown(event.chatMessageId)?.message;
    const retried = <T>(call: () => Promise<T>) => untilAnswered(call, { signal });

    const current = before?.image == null ? undefined : chatMessageIds.slice(1).at(-1);
    const isSameImage = image === (before?.image ?? null);
    const picture =
      image === null || isSameImage ? undefined : await retried(() => pictures.upload(image, signal));
    const isShown = isSameImage ? current !== undefined : picture !== undefined;
    const content = toContent(message, prefix, isShown ? undefined : (image ?? undefined));

    timeline.begin({ eventId, txnId: id, before, after: message });
    try {
      await retried(() => api.send(roomId, "m.room.message", id, toEdit(eventId, content), signal));
    } catch (error) {
      timeline.failed(eventId, id);
      throw error;
    }
    const wanted = { roomId, eventId, count: keycapCount(message), cause: id };
    keycaps.want({ ...wanted, ...(before !== undefined && { before: keycapCount(before) }) });
    if (isSameImage) return undefined;
    return retried(() => this.#changePicture(event, current, picture, signal)).catch((error: unknown) => {
      // The text is already changed, so the update must not count as refused.
      if (error instanceof MatrixError) return undefined;
      throw error;
    });
  }

  /**
   * Replaces or removes the image `current` of a message, or shows a first image. Resolves to the id of a new image
   * event.
   */
  async #changePicture(
    { id, chatMessageId }: ShownUpdate,
    current: string | undefined,
    picture: Picture | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { api } = this.#parts;
    const { roomId } = readChatId(chatMessageId);
    const txnId = `${id}.picture`;
    if (picture === undefined) {
      if (current !== undefined) await api.redact(roomId, readChatId(current).eventId, txnId, signal);
      return undefined;
    }
    const content = toPictureContent(picture);
    const sent = current === undefined ? content : toEdit(readChatId(current).eventId, content);
    const eventId = await api.send(roomId, "m.room.message", txnId, sent, signal);
    return current === undefined ? toChatId(roomId, eventId) : undefined;
  }
}
