import { setTimeout as sleep } from "node:timers/promises";
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
import type { Background } from "../background";
import type { MatrixApi } from "../client/matrix-api";
import { isRejected } from "../client/matrix-error";
import { untilAnswered } from "../client/retrying";
import { withTimeLimit } from "../client/time-limit";
import type { Ids } from "../ids";
import { readChatId, toChatId } from "./chat-id";
import { keycapCount } from "./choices";
import { asNotice, toContent, toEdit, withPicture } from "./content";
import type { DirectRoomIndex } from "./direct-rooms";
import type { EncryptedRooms } from "./encrypted-rooms";
import type { KeycapReactions } from "./keycap-reactions";
import type { Pictures } from "./pictures";
import type { PowerNotice } from "./power-notice";
import { asks, closed, isNewQuestion } from "./questions";
import type { RoomPowers } from "./room-powers";
import { encryptedRoom, mutedRoom, toChatError } from "./to-chat-error";
import type { TimelineStates } from "./timeline-states";
import { closingTxn, questionTxn } from "./txn-id";
import type { UnsavedEvents } from "./unsaved-events";

/** Milliseconds between two checks of whether the bridge may speak. The powers are cached, so a check is cheap. */
const MUTED_LOOK_MS = 1_000;

export interface MatrixChatParts {
  readonly api: Pick<MatrixApi, "send">;
  readonly ids: Ids;
  readonly direct: DirectRoomIndex;
  readonly encrypted: EncryptedRooms;
  readonly powers: Pick<RoomPowers, "of" | "changed">;
  readonly pictures: Pick<Pictures, "upload">;
  readonly keycaps: KeycapReactions;
  readonly background: Pick<Background, "first">;
  readonly timeline: TimelineStates;
  readonly unsaved: Pick<UnsavedEvents, "begin" | "end">;
  readonly powerNotice: Pick<PowerNotice, "afterQuestion">;
  readonly settings: ChatSettings;
  /** Aborted when the bridge stops. */
  readonly stopped: AbortSignal;
  /** Called when an update waits until the bridge may speak in a room. */
  onMuted(roomId: string): void;
  /** Returns the message that the chat shows under an id: see `Bridge.shown`. */
  shown(chatId: string): ShownMessage | undefined;
}

/** The settings for messages of games. */
export interface ChatSettings {
  /** The prefix of typed choices. */
  readonly COMMAND_PREFIX: string;
  /** Whether a new question of a game is a new message, or an edit of the game's message. */
  readonly MATRIX_QUESTIONS: "new" | "edit";
  /** Whether an image is shown in the message with its text, or as a link. */
  readonly MATRIX_PICTURES: "caption" | "link";
}

/** A message to show. */
interface Showing {
  /** Id of the service's event. */
  readonly id: string;
  readonly message: Message;
  /** Whether only one member sees the message. */
  readonly isEphemeral: boolean;
}

/**
 * Shows the service's messages in Matrix rooms. Every request has a transaction id that is derived from the id of the
 * service's event, so a repeated request after a crash has no effect. Calls reject with the errors of `toChatError`.
 *
 * A message of the service is one event in the room, and updates edit this event. Nobody is notified of an edit, so a
 * new question is posted as another event. Members can then react and reply to any of these events.
 */
export class MatrixChat implements BridgeChat {
  readonly #parts: MatrixChatParts;

  constructor(parts: MatrixChatParts) {
    this.#parts = parts;
  }

  post({ channel, id, message, createdAt }: MessageCreate, signal: AbortSignal): Promise<string[]> {
    const roomId = this.#parts.ids.toMatrix(channel);
    const post = () => this.#post(roomId, { id, message, isEphemeral: false }, signal);
    return this.#show(id, () => this.#whereMuted(roomId, createdAt, post));
  }

  dm({ user, id, message }: DmCreate, signal: AbortSignal): Promise<string[]> {
    return this.#show(id, () => this.#postToMember(user, { id, message, isEphemeral: false }, signal));
  }

  /**
   * Shows an ephemeral message. Retries temporary failures until the message expires, with shorter waits than the
   * kit's.
   */
  ephemeral({ user, id, message, expiresAt }: MessageEphemeral, signal: AbortSignal): Promise<string[]> {
    const leftMs = expiresAt === null ? Infinity : Math.max(0, Date.parse(expiresAt) - Date.now());
    // Node's timers do not support a wait longer than `TIMER_MOST_MS`. A longer wait needs no timer, because the kit
    // aborts `signal` much earlier.
    const withinMs = leftMs > TIMER_MOST_MS ? undefined : leftMs;
    const call = (): Promise<string[]> =>
      this.#postToMember(user, { id, message, isEphemeral: true }, signal);
    return this.#show(id, () =>
      withTimeLimit(withinMs, signal, (limited) => untilAnswered(call, { signal: limited })),
    );
  }

  update(event: ShownUpdate, signal: AbortSignal): Promise<string | readonly string[]> {
    return this.#show(event.id, async () => (await this.#updateUnmuted(event, signal)) ?? []);
  }

  /** Shows an event. Rejects with the error that determines whether and when the kit retries the call. */
  async #show<T>(id: string, call: () => Promise<T>): Promise<T> {
    const { unsaved } = this.#parts;
    unsaved.begin(id);
    try {
      return await call();
    } catch (error) {
      const forKit = toChatError(error);
      // After any error except `CannotShow`, the homeserver may have accepted the request although its answer was lost.
      if (forKit instanceof CannotShow) unsaved.end(id);
      throw forKit;
    }
  }

  /**
   * Calls `post`. If the bridge is in the room but may not speak there, rejects with `mutedRoom`, because a moderator
   * may be about to allow it.
   */
  async #whereMuted<T>(roomId: string, createdAt: string, post: () => Promise<T>): Promise<T> {
    const { powers } = this.#parts;
    if (!(await powers.of(roomId)).maySpeak) throw mutedRoom(createdAt);
    try {
      return await post();
    } catch (error) {
      throw (await this.#isMuted(roomId, error)) ? mutedRoom(createdAt) : error;
    }
  }

  /** Whether the homeserver rejected a request because the bridge may not speak in the room. */
  async #isMuted(roomId: string, error: unknown): Promise<boolean> {
    const { powers } = this.#parts;
    if (!isRejected(error, "M_FORBIDDEN")) return false;
    powers.changed(roomId);
    return !(await powers.of(roomId)).maySpeak;
  }

  /**
   * Applies an update. The kit does not retry updates, so the update waits here while the bridge may not speak in the
   * room. Otherwise, the room might show a game's question forever. The wait delays only later updates of the same
   * message.
   */
  async #updateUnmuted(event: ShownUpdate, signal: AbortSignal): Promise<string | undefined> {
    const { powers, stopped, onMuted } = this.#parts;
    const { roomId } = readChatId(event.chatMessageId);
    for (let looks = 0; ; looks += 1) {
      if ((await untilAnswered(() => powers.of(roomId), { signal })).maySpeak) {
        try {
          return await this.#update(event, signal);
        } catch (error) {
          if (!(await this.#isMuted(roomId, error))) throw error;
        }
      }
      if (looks === 0) onMuted(roomId);
      const muted = mutedRoom(event.createdAt);
      if (muted instanceof CannotShow || stopped.aborted) throw muted;
      await sleep(MUTED_LOOK_MS, undefined, { signal });
    }
  }

  async #postToMember(user: string, showing: Showing, signal: AbortSignal): Promise<string[]> {
    const { direct, ids } = this.#parts;
    return this.#post(await direct.open(ids.toMatrix(user), signal), showing, signal);
  }

  async #post(roomId: string, showing: Showing, signal: AbortSignal): Promise<string[]> {
    const { api, encrypted, timeline, keycaps } = this.#parts;
    const { id, message } = showing;
    const isEncrypted = await encrypted.isEncrypted(roomId);
    if (isEncrypted && !encrypted.isSupported) throw encryptedRoom();
    const content = await this.#toContent(showing, isEncrypted);
    const eventId = await api.send(roomId, "m.room.message", id, content, signal);
    timeline.begin({ eventId, txnId: id, before: undefined, after: message });
    keycaps.want({ roomId, eventId, count: keycapCount(message), cause: id, before: 0 });
    this.#afterQuestion(roomId, message);
    return [toChatId(roomId, eventId)];
  }

  /**
   * Applies an update. The kit drops a refused update, so this function retries temporary failures. Resolves to the id
   * of a new message, if any.
   */
  async #update(event: ShownUpdate, signal: AbortSignal): Promise<string | undefined> {
    const { keycaps, shown, encrypted } = this.#parts;
    const { id, message } = event;
    const current = readChatId(event.chatMessageIds.at(-1) ?? event.chatMessageId);
    const { roomId, eventId } = current;
    const known = shown(event.chatMessageId);
    const before = known?.message;
    const isEncrypted =
      encrypted.isSupported && (await untilAnswered(() => encrypted.isEncrypted(roomId), { signal }));
    const isEphemeral = (known?.user ?? null) !== null;
    const content = await this.#toContent({ id, message, isEphemeral }, isEncrypted);
    if (before !== undefined && isNewQuestion(before, message) && (await this.#isPosted(roomId, signal))) {
      return this.#ask({ id, message, before, current, content, isEncrypted }, signal);
    }
    if (keycapCount(message) === 0) keycaps.stop(eventId);
    await this.#edit({ ...current, txnId: id, before, after: message, content }, signal);
    const wanted = { roomId, eventId, count: keycapCount(message), cause: id };
    keycaps.want({ ...wanted, ...(before !== undefined && { before: keycapCount(before) }) });
    this.#afterQuestion(roomId, message);
    return undefined;
  }

  /** Posts a new question as a message, and closes the message before it. Resolves to the id of the new message. */
  async #ask(
    question: {
      readonly id: string;
      readonly message: Message;
      /** The message as the room shows it, under the id `current`. */
      readonly before: Message;
      readonly current: ReturnType<typeof readChatId>;
      readonly content: object;
      readonly isEncrypted: boolean;
    },
    signal: AbortSignal,
  ): Promise<string> {
    const { api, timeline, keycaps, background, settings } = this.#parts;
    const { id, message, before, current, content, isEncrypted } = question;
    const { roomId } = current;
    const txnId = questionTxn(id);
    keycaps.stop(current.eventId);
    const send = () => api.send(roomId, "m.room.message", txnId, content, signal);
    const eventId = await background.first(send, signal);
    timeline.begin({ eventId, txnId, before: undefined, after: message });
    keycaps.want({ roomId, eventId, count: keycapCount(message), cause: id, before: 0 });
    this.#afterQuestion(roomId, message);
    // A message that asks nothing, e.g. the answer of the last question, stays as it is.
    if (asks(before)) {
      const after = closed(before);
      const left = toContent(after, settings.COMMAND_PREFIX, undefined, isEncrypted);
      await this.#edit({ ...current, txnId: closingTxn(id), before, after, content: left }, signal);
      keycaps.want({ ...current, count: 0, cause: id, before: keycapCount(before) });
    }
    return toChatId(roomId, eventId);
  }

  /** Whether a new question in a room is posted as a new message. */
  async #isPosted(roomId: string, signal: AbortSignal): Promise<boolean> {
    const { settings, powers } = this.#parts;
    if (settings.MATRIX_QUESTIONS === "new") return true;
    // If the bridge may not remove the reactions of members, a member's reaction to the last question stays. The
    // homeserver then refuses the same reaction to the next question if one message shows both questions.
    return !(await untilAnswered(() => powers.of(roomId), { signal })).mayRedact;
  }

  async #edit(
    edit: {
      readonly roomId: string;
      readonly eventId: string;
      readonly txnId: string;
      readonly before: Message | undefined;
      readonly after: Message;
      readonly content: { readonly body: string };
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { api, timeline, background } = this.#parts;
    const { roomId, eventId, txnId, before, after, content } = edit;
    timeline.begin({ eventId, txnId, before, after });
    const send = () => api.send(roomId, "m.room.message", txnId, toEdit(eventId, content), signal);
    try {
      await background.first(send, signal);
    } catch (error) {
      timeline.failed(eventId, txnId);
      throw error;
    }
  }

  /** Resolves to the content of a message. An image is uploaded first, so that it never appears after its question. */
  async #toContent({ message, isEphemeral }: Showing, isEncrypted: boolean) {
    const { pictures, settings } = this.#parts;
    const { image } = message;
    const { COMMAND_PREFIX: prefix, MATRIX_PICTURES: how } = settings;
    const picture = image === null || how === "link" ? undefined : await pictures.upload(image, isEncrypted);
    const link = picture === undefined ? (image ?? undefined) : undefined;
    const content = toContent(message, prefix, link, isEncrypted);
    if (picture !== undefined) return withPicture(content, picture);
    // Clients must not notify the member of a receipt, but may notify the member of a question.
    return isEphemeral && !asks(message) ? asNotice(content) : content;
  }

  #afterQuestion(roomId: string, message: Message): void {
    if (keycapCount(message) > 0) this.#parts.powerNotice.afterQuestion(roomId);
  }
}
