import { DM_PREFIX } from "../../../contract/forms";
import type { MessageBody, OutboundEvent } from "../../../core/domain/outbound-event";
import { findSizeProblems } from "../chat-sizes";
import { PROMPTS_SEEN } from "../../typed-text";
import type { Findings } from "./findings";

/** Maximum number of messages of a workspace. The oldest are forgotten when there are more. */
const MESSAGES_MAX = 2_000;
/** Maximum number of events in the log of a workspace. */
const LOG_MAX = 1_000;
/** Maximum number of channels of a workspace. */
const CHANNELS_MAX = 1_000;
/** Maximum number of typed messages that are remembered as unheard (see `noteTyped`). */
const UNHEARD_MAX = 1_000;

/** A message as the chat shows it: its newest version. */
export interface ShownMessage {
  readonly id: string;
  /** The id of the channel; for a DM, `dm:` followed by the id of the member. */
  readonly place: string;
  /** The only member who sees the message; undefined if every member of the channel sees it. */
  readonly to: string | undefined;
  readonly content: MessageBody;
  readonly awaitsReply: boolean;
  /**
   * Time at which the event with the newest version expires, ms since the epoch. Bridges drop an event that arrives
   * after it has expired.
   */
  readonly expiresAtMs: number | null;
  /** Number of updates of the message. */
  readonly updates: number;
}

/** An event that was sent to the workspace's bridge. */
export interface SentEvent {
  readonly sequence: number;
  readonly eventId: string;
  readonly messageId: string;
  readonly event: OutboundEvent;
}

/** The messages of a chat, as if its bridge showed every event immediately. */
export class ChatView {
  readonly workspaceId: string;
  readonly #findings: Findings;
  /** The messages by id, in the order in which they were posted. */
  readonly #messages = new Map<string, ShownMessage>();
  readonly #log: SentEvent[] = [];
  /** The channels of members' events. */
  readonly #channels = new Set<string>();
  /** The channels of the newest unheard messages (see `noteTyped`), by the entry ids of their events. */
  readonly #unheard = new Map<string, string>();
  /** The ids of the messages in `#messages`, in the order of their last updates. */
  readonly #updated = new Set<string>();
  /** The id of the newest message that was forgotten. Later messages have higher ids. */
  #forgottenId = "";

  constructor(workspaceId: string, findings: Findings) {
    this.workspaceId = workspaceId;
    this.#findings = findings;
  }

  /** The newest messages, oldest first. */
  get messages(): readonly ShownMessage[] {
    return [...this.#messages.values()];
  }

  /** The newest events, oldest first. */
  get outbound(): readonly SentEvent[] {
    return this.#log;
  }

  find(messageId: string): ShownMessage | undefined {
    return this.#messages.get(messageId);
  }

  /** Makes a channel known to the game. */
  addChannel(id: string): void {
    if (this.#channels.size < CHANNELS_MAX) this.#channels.add(id);
  }

  /**
   * Notes that a member has typed a message. The message is unheard if none of the newest messages that the member sees
   * in the channel awaits a reply. Many bridges do not report such a message.
   */
  noteTyped(entryId: string, channel: string, userId: string): void {
    if (channel.startsWith(DM_PREFIX) || this.#isReplyAwaited(channel, userId)) return;
    this.#unheard.set(entryId, channel);
    if (this.#unheard.size <= UNHEARD_MAX) return;
    const [oldest = ""] = this.#unheard.keys();
    this.#unheard.delete(oldest);
  }

  #isReplyAwaited(channel: string, userId: string): boolean {
    const newest = (reader: string | undefined, most: number): readonly ShownMessage[] =>
      [...this.#updated]
        .flatMap((id) => this.#messages.get(id) ?? [])
        .filter(({ place, to }) => place === channel && to === reader)
        .slice(-most);
    return [...newest(undefined, PROMPTS_SEEN), ...newest(userId, 1)].some(({ awaitsReply }) => awaitsReply);
  }

  /** Adds a finding if the event of an unheard message led the game to publish an event. */
  checkHeard(entryId: string, type: string): void {
    const channel = this.#unheard.get(entryId);
    if (channel === undefined) return;
    const detail = `a ${type} follows a message that a member typed in the channel "${channel}", where none of the newest messages awaits a reply`;
    this.#findings.add("unheard-message", detail);
  }

  show(sent: SentEvent, expiresAtMs: number | null): void {
    const { event, messageId } = sent;
    this.#log.push(sent);
    if (this.#log.length > LOG_MAX) this.#log.shift();
    const { content } = event;
    for (const { code, detail } of findSizeProblems(content.message)) this.#findings.add(code, detail);
    const head = {
      id: messageId,
      content: content.message,
      awaitsReply: content.message.awaitsReply,
      expiresAtMs,
    };
    switch (content.type) {
      case "message.create":
        this.#checkChannel(content.channel);
        return this.#add({ ...head, place: content.channel, to: undefined, updates: 0 });
      case "message.ephemeral":
        this.#checkChannel(content.channel);
        return this.#add({ ...head, place: content.channel, to: content.user, updates: 0 });
      case "dm.create":
        return this.#add({ ...head, place: `${DM_PREFIX}${content.user}`, to: undefined, updates: 0 });
      case "message.update":
        return this.#update({ ...head, place: content.channel });
    }
  }

  #add(message: ShownMessage): void {
    this.#messages.set(message.id, message);
    this.#updated.add(message.id);
    if (this.#messages.size <= MESSAGES_MAX) return;
    const [oldest = ""] = this.#messages.keys();
    this.#messages.delete(oldest);
    this.#updated.delete(oldest);
    this.#forgottenId = oldest;
  }

  #update({ place, ...head }: Omit<ShownMessage, "to" | "updates">): void {
    const before = this.#messages.get(head.id);
    if (before === undefined) {
      if (head.id <= this.#forgottenId) return;
      return this.#findings.add("unknown-message", `update of ${head.id}, which the chat does not show`);
    }
    if (before.to !== undefined) {
      return this.#findings.add("ephemeral-update", `update of the ephemeral message ${head.id}`);
    }
    if (before.place !== place) {
      const detail = `update of ${head.id} in the channel ${place}: the message is in ${before.place}`;
      return this.#findings.add("wrong-channel", detail);
    }
    this.#messages.set(head.id, { ...before, ...head, updates: before.updates + 1 });
    this.#updated.delete(head.id);
    this.#updated.add(head.id);
  }

  #checkChannel(channel: string): void {
    if (this.#channels.has(channel) || this.#channels.size >= CHANNELS_MAX) return;
    this.#findings.add("unknown-channel", `message in the channel "${channel}", which no event named`);
  }
}
