import { DM_PREFIX } from "../../contract/forms";
import {
  MemoryCore,
  InvalidCall,
  type MemoryWorkspace,
  type Occurrence,
  type ShownMessage,
} from "../../kit/game/testing/memory-core";
import { millisecondsOf, type Duration } from "../../kit/game/duration";
import type { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import type { OutboundEvent, PublishResult } from "../../proto/gen/chatbridge/v1/game";
import { listMessages, noButton, type PlacedMessage } from "./message-lines";
import { Refused } from "./refused";
import { ShiftedClock } from "./shifted-clock";

/** Maximum number of workspaces. */
const WORKSPACES_MAX = 1_000;
/** Maximum number of messages whose positions are stored. Beyond this number, the oldest positions are removed. */
const POSITIONS_MAX = 20_000;
/** Maximum number of calls that wait at the same time. */
const WAITING_MAX = 500;
/** Maximum length of a wait in seconds. */
export const WAIT_MAX_SECONDS = 60;
const ROOM = "room";

/** The workspace and channel in which a member acts. The defaults are the first workspace and the channel "room". */
export interface ActsIn {
  readonly workspace?: string | undefined;
  readonly channel?: string | undefined;
  /** Display name of the member. */
  readonly name?: string | undefined;
}

/** A filter for messages. An empty filter selects all messages. */
export interface MessageFilter {
  readonly workspace?: string | undefined;
  /** A channel id, or "dm:" and the id of a member. */
  readonly place?: string | undefined;
  /** Only messages that this member sees. */
  readonly member?: string | undefined;
  readonly contains?: string | undefined;
  /** Only messages that were shown or edited after this position in the sequence of shown messages. */
  readonly after?: number | undefined;
}

export interface FakeChatEvents {
  onShown(shown: PlacedMessage): void;
  onFinding(occurrence: Occurrence): void;
}

/** The chats of a fake core: members act in them, and games show messages in them. */
export class FakeChat {
  readonly core: MemoryCore;
  readonly #clock = new ShiftedClock();
  readonly #events: FakeChatEvents;
  /** The positions at which the newest versions of messages were shown, by message id. */
  readonly #positions = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #position = 0;

  constructor(workspaces: readonly string[], events: FakeChatEvents) {
    this.#events = events;
    this.core = new MemoryCore(this.#clock, (occurrence) => events.onFinding(occurrence));
    for (const id of workspaces) this.addWorkspace(id);
  }

  /** The number of messages and edits that were shown. */
  get position(): number {
    return this.#position;
  }

  get now(): Date {
    return new Date(this.#clock.now());
  }

  addWorkspace(id: string): string {
    if (this.core.workspaceIds.length >= WORKSPACES_MAX) {
      throw new Refused(409, `there are already ${WORKSPACES_MAX} workspaces: remove one first`);
    }
    return orRefuse(() => this.core.addWorkspace(id)).id;
  }

  removeWorkspace(id: string): void {
    this.core.removeWorkspace(this.#workspace(id).id);
    this.changed();
  }

  /** Publishes an event of a game. Throws `CoreUnavailable`. */
  publish(event: OutboundEvent): PublishResult[] {
    const updated = event.content?.$case === "messageUpdate" ? event.content.value.message?.id : undefined;
    const before = this.core.workspace(event.workspaceId)?.find(updated ?? "");
    const results = this.core.publish([event]);
    for (const { outcome } of results) {
      if (outcome?.$case !== "published" || outcome.value.repeated) continue;
      const { messageId } = outcome.value;
      const workspace = this.core.workspace(event.workspaceId);
      const message = workspace?.find(messageId);
      // The chat ignores an invalid update. The report lists the update.
      if (workspace === undefined || message === undefined || message === before) continue;
      this.#positions.delete(messageId);
      this.#positions.set(messageId, ++this.#position);
      const [oldest = ""] = this.#positions.keys();
      if (this.#positions.size > POSITIONS_MAX) this.#positions.delete(oldest);
      this.#events.onShown(this.#place(workspace.id, message));
    }
    this.changed();
    return results;
  }

  /**
   * Types a text in a channel. A text that begins with "/" is a command. "/play dice" is the same as "/dice", because
   * bridges have one command.
   */
  types(member: string, text: string, where: ActsIn = {}): void {
    const { channel = ROOM } = where;
    if (!text.startsWith("/")) return this.#say({ member, text, channel, where });
    const command = /^\/play(?:\s|$)/.test(text) ? text.slice("/play".length) : text.slice(1);
    this.#report(member, channel, { $case: "command", value: { text: command.trim() } }, where);
  }

  /** Types a text in the direct conversation between a member and the game. */
  dms(member: string, text: string, where: ActsIn = {}): void {
    if (text.startsWith("/")) {
      throw new Refused(
        400,
        `"${text}" is a command: type it in a channel, because direct conversations have none`,
      );
    }
    this.#say({ member, text, channel: `${DM_PREFIX}${idOf(member)}`, where });
  }

  /** Replies to the newest message that awaits a reply and that the member sees. */
  replies(member: string, text: string, where: ActsIn = {}): void {
    const seen = this.#seenBy(member, where);
    const asked = seen.findLast(({ awaitsReply }) => awaitsReply);
    if (asked === undefined) {
      const advice = `wait until a message awaits a reply, or use "types" or "dms"`;
      throw new Refused(
        409,
        `no message that ${member} sees awaits a reply: ${advice}; ${listMessages(seen)}`,
      );
    }
    this.#say({ member, text, channel: asked.place, where, replyTo: asked.id });
  }

  /**
   * Presses the button with the label on the message `messageId`. Without `messageId`, presses it on the newest message
   * that shows the member such a button.
   */
  presses(member: string, label: string, where: ActsIn = {}, messageId?: string): void {
    const seen = this.#seenBy(member, where);
    const choice = messageId === undefined ? seen : [this.#seenMessage(member, messageId, where)];
    for (const { id, place, content } of choice.toReversed()) {
      const button = content.buttons.flat().find((each) => each.label === label);
      if (button === undefined) continue;
      if (!("action" in button)) {
        throw new Refused(
          409,
          `the button "${label}" opens ${button.url}, so a press sends no event: open the page instead`,
        );
      }
      return this.#pressed(member, place, id, button.action, where);
    }
    throw new Refused(409, noButton(member, label, choice, messageId));
  }

  /** Presses a button with any action on any message, to simulate a forged or an outdated button. */
  pressesAction(member: string, messageId: string, action: string, where: ActsIn = {}): void {
    const { channel = ROOM } = where;
    const place = this.#workspace(where.workspace).find(messageId)?.place ?? channel;
    this.#pressed(member, place, messageId, action, where);
  }

  messages({ workspace, place, member, contains, after }: MessageFilter = {}): readonly PlacedMessage[] {
    const id = member === undefined ? undefined : idOf(member);
    const ids = workspace === undefined ? this.core.workspaceIds : [this.#workspace(workspace).id];
    return ids.flatMap((each) => {
      const messages = this.core.workspace(each)?.messages ?? [];
      return messages
        .filter((message) => place === undefined || message.place === place)
        .filter((message) => id === undefined || isSeenBy(message, id))
        .filter(({ content }) => contains === undefined || content.text.includes(contains))
        .map((message) => this.#place(each, message))
        .filter(({ position }) => after === undefined || position > after);
    });
  }

  /** Moves the clock forward. Throws `Refused` if the duration is invalid. */
  advance(duration: Duration): void {
    let ms: number;
    try {
      ms = millisecondsOf(duration);
    } catch (error) {
      throw new Refused(400, (error as Error).message);
    }
    if (ms > ADVANCE_MAX_MS) throw new Refused(400, "advance by at most 30 days");
    this.#clock.advance(ms);
    this.changed();
  }

  redeliver(): void {
    if (this.core.redeliver()) return;
    throw new Refused(409, "no event was delivered yet, so none can be redelivered: let a member act first");
  }

  reset(): void {
    this.core.reset();
    this.#positions.clear();
    this.changed();
  }

  /** Checks all waits again. Must be called after each change that can end a wait. */
  changed(): void {
    for (const check of this.#waiting) check();
  }

  /**
   * Waits until `condition` holds. Resolves to true once it holds, and to false after `seconds` or when `signal` is
   * aborted.
   */
  async until(condition: () => boolean, seconds: number, signal?: AbortSignal): Promise<boolean> {
    if (condition()) return true;
    if (seconds <= 0) return false;
    if (this.#waiting.size >= WAITING_MAX)
      throw new Refused(503, `${WAITING_MAX} calls already wait: wait in fewer calls`);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        signal?.removeEventListener("abort", end);
        resolve(condition());
      };
      const check = (): void => void (condition() && end());
      const timer = setTimeout(end, seconds * 1_000);
      this.#waiting.add(check);
      if (signal?.aborted === true) end();
      else signal?.addEventListener("abort", end);
    });
  }

  /** The groups with an open stream. */
  get followers(): readonly { readonly name: string; readonly streams: number }[] {
    return this.core.groups.filter(({ streams }) => streams > 0);
  }

  #seenBy(member: string, { workspace, channel = ROOM }: ActsIn): readonly ShownMessage[] {
    const id = idOf(member);
    return this.#workspace(workspace).messages.filter(
      (message) => isSeenBy(message, id) && [channel, `${DM_PREFIX}${id}`].includes(message.place),
    );
  }

  #seenMessage(member: string, id: string, { workspace }: ActsIn): ShownMessage {
    const found = this.#workspace(workspace).find(id);
    if (found !== undefined && isSeenBy(found, idOf(member))) return found;
    throw new Refused(
      409,
      `${member} sees no message with the id "${id}": use the id of a message in GET /messages, or "action" for a forged press`,
    );
  }

  #pressed(member: string, place: string, messageId: string, action: string, where: ActsIn): void {
    this.#report(member, place, { $case: "action", value: { messageId, action } }, where);
  }

  #workspace(id: string | undefined): MemoryWorkspace {
    const [first = ""] = this.core.workspaceIds;
    const found = this.core.workspace(id ?? first);
    if (found) return found;
    const known = this.core.workspaceIds.slice(0, 20).join(", ");
    if (id === undefined) throw new Refused(404, "there is no workspace: add one with POST /workspaces");
    throw new Refused(
      404,
      `no workspace has the id "${id}": use one of ${known || "(none)"}, or add it with POST /workspaces`,
    );
  }

  #say({
    member,
    text,
    channel,
    where,
    replyTo,
  }: {
    member: string;
    text: string;
    channel: string;
    where: ActsIn;
    replyTo?: string;
  }): void {
    this.#report(member, channel, { $case: "message", value: { text, replyTo } }, where);
  }

  #report(
    member: string,
    channel: string,
    kind: NonNullable<InboundEvent["kind"]>,
    { workspace, name }: ActsIn,
  ): void {
    const { id } = this.#workspace(workspace);
    if (this.core.groups.length === 0) {
      throw new Refused(
        409,
        "no game has followed yet, so no game would get this event: start the game, and wait until it follows (GET /ready?wait=30)",
      );
    }
    const user = { id: idOf(member), name: name ?? nameOf(member) };
    orRefuse(() => this.core.receive(id, { channel: { id: channel }, user, kind }));
  }

  #place(workspace: string, message: ShownMessage): PlacedMessage {
    const { id, expiresAtMs } = message;
    const isExpired = expiresAtMs !== null && expiresAtMs <= this.#clock.now();
    return { workspace, message, position: this.#positions.get(id) ?? 0, isExpired };
  }
}

const ADVANCE_MAX_MS = 30 * 86_400_000;

const idOf = (member: string): string => member.toLowerCase();

/** Returns a member's display name: the typed name with a capital first letter. */
const nameOf = (member: string): string => {
  const [first = "", ...rest] = member;
  return `${first.toUpperCase()}${rest.join("")}`;
};

function isSeenBy({ place, to }: ShownMessage, member: string): boolean {
  return place.startsWith(DM_PREFIX) ? place === `${DM_PREFIX}${member}` : to === undefined || to === member;
}

function orRefuse<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof InvalidCall ? new Refused(400, error.message) : error;
  }
}
