import type { Element } from "ltx";
import { LRUCache } from "lru-cache";
import { pingRequest, privateMessage, roomMessage } from "../stanzas";
import { PendingSends } from "./pending-sends";
import { refusalOf, toChatError } from "./refusal";

/** The connection of a room. */
export interface RoomLink {
  send(stanza: Element): Promise<void>;
  /** Resolves to the answer. Rejects with the property `condition` if the answer is an error. */
  request(iq: Element): Promise<Element>;
}

export interface RoomMessagesOptions {
  /** The JID of the room. */
  readonly room: string;
  readonly link: RoomLink;
  /** Returns the JID of the bridge in the room. */
  address(): string;
  isJoined(): boolean;
  /** Called when the room says that the bridge is not in it. */
  onForgotten(): void;
}

/** Milliseconds without a confirmation after which the bridge asks the room whether the bridge is still in it. */
const UNSHOWN_MS = 10_000;
const SHOWN_IDS_MAX = 500;

/** Sends messages to a room and to its occupants, and reads which messages the room has shown or refused. */
export class RoomMessages {
  readonly #options: RoomMessagesOptions;
  readonly #pending = new PendingSends();
  /** Ids of the bridge's newest messages that the room has shown, including those from before a restart. */
  readonly #shown = new LRUCache<string, true>({ max: SHOWN_IDS_MAX });

  constructor(options: RoomMessagesOptions) {
    this.#options = options;
  }

  /**
   * Sends a message to everybody. Resolves when the room shows the message. Does nothing if the room has already shown
   * a message with this id.
   */
  async post(id: string, text: string, signal: AbortSignal, replaces?: string): Promise<void> {
    const { link, room } = this.#options;
    if (this.#shown.has(id)) return;
    const slow = setTimeout(() => void this.ask(), UNSHOWN_MS);
    const stanza = roomMessage({ id, to: room, text, replaces });
    await this.#pending.send(id, () => link.send(stanza), signal).finally(() => clearTimeout(slow));
  }

  /** Sends a message to one member. Resolves when the room has handled the message without an error. */
  async whisper(
    id: string,
    nick: string,
    text: string,
    signal: AbortSignal,
    replaces?: string,
  ): Promise<void> {
    const { link, room } = this.#options;
    const stanza = privateMessage({ id, to: `${room}/${nick}`, text, replaces }, true);
    const send = async (): Promise<void> => {
      await link.send(stanza);
      // The room handles stanzas in order, so an error would arrive before the answer to this ping.
      void this.ask().then(() => this.#pending.confirm(id));
    };
    await this.#pending.send(id, send, signal);
  }

  /** Asks the room whether the bridge is still in it (XEP-0410). */
  async ask(): Promise<void> {
    const { link, address, isJoined, onForgotten } = this.#options;
    if (!isJoined()) return;
    try {
      await link.request(pingRequest(address()));
    } catch (error) {
      const { condition } = error as { condition?: string };
      if (condition === "not-acceptable" && isJoined()) onForgotten();
    }
  }

  /** Called when the room shows a message from the bridge. */
  onShown(id: string): void {
    this.#shown.set(id, true);
    this.#pending.confirm(id);
  }

  onError(message: Element): void {
    const refusal = refusalOf(message);
    const { id = "" } = message.attrs;
    const refuse = (): void => this.#pending.refuse(id, toChatError(refusal));
    if (refusal.condition !== "not-acceptable" || !this.#options.isJoined()) return refuse();
    // Either the bridge is no longer in the room, or the room refuses private messages: ask the room.
    void this.ask().then(() => (this.#options.isJoined() ? refuse() : undefined));
  }

  /** Refuses all pending messages, so that the kit sends them again later. */
  refuseAll(reason: string): void {
    this.#pending.refuseAll(reason);
  }
}
