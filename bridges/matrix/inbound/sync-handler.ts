import { dmChannel, type Bridge, type ShownMessage } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import { readChatId, toChatId } from "../chat/chat-id";
import type { DirectRoomIndex } from "../chat/direct-rooms";
import { closed } from "../chat/questions";
import type { RoomPowers } from "../chat/room-powers";
import type { TimelineStates } from "../chat/timeline-states";
import { causeOf } from "../chat/txn-id";
import type { UnsavedEvents } from "../chat/unsaved-events";
import {
  relationOf,
  type DirectRooms,
  type JoinedRoom,
  type MatrixEvent,
  type SyncAnswer,
} from "../client/events";
import type { MatrixApi } from "../client/matrix-api";
import type { RoomCrypto } from "../crypto/room-crypto";
import type { Ids } from "../ids";
import type { RoomList } from "../room-list";
import type { Invites } from "./invites";
import type { Names } from "./names";
import { isUnasked, readEvent, type RoomView, type ShownEvent, type Typing } from "./read-event";
import { logRemoval } from "./removals";
import type { Reporter } from "./reporter";
import type { Upgrades } from "./upgrades";
import { runByMember, type MemberTask } from "./run-by-member";
import { newEvents } from "./timeline";

export interface SyncHandlerParts {
  readonly bridge: Pick<Bridge, "shown" | "shownIn">;
  readonly api: Pick<MatrixApi, "olderEvents">;
  /** Id of the bridge's account. */
  readonly own: string;
  readonly typing: Omit<Typing, "nowMs">;
  readonly direct: DirectRoomIndex;
  readonly timeline: TimelineStates;
  readonly unsaved: Pick<UnsavedEvents, "untilSaved">;
  readonly names: Names;
  readonly ids: Ids;
  readonly invites: Invites;
  readonly upgrades: Pick<Upgrades, "isExpected" | "follow" | "arrived">;
  readonly powers: Pick<RoomPowers, "changed">;
  readonly roomList: Pick<RoomList, "joined" | "left" | "readRoom">;
  readonly reporter: Pick<Reporter, "report" | "powersChanged">;
  /** Undefined if the bridge does not support encrypted rooms. */
  readonly crypto?: Pick<RoomCrypto, "receive" | "read" | "recipients"> | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Maximum number of members whose reports are sent at the same time. The reports of one member are sent in order. */
const MEMBERS_AT_ONCE = 16;
const EDITS_KEPT = 5_000;

/** Handles the answers of the sync: updates the cached state of the rooms, and reports the events of members. */
export class SyncHandler {
  readonly #parts: SyncHandlerParts;
  /** Maps the id of each edit to the id of the edited event, because some clients let members react to an edit. */
  readonly #originals = new LRUCache<string, string>({ max: EDITS_KEPT });

  constructor(parts: SyncHandlerParts) {
    this.#parts = parts;
  }

  /** Resolves once the events of all members are reported. Rejects only when the bridge stops. */
  async handle(answer: SyncAnswer, since: string | undefined): Promise<void> {
    const { account_data: data, rooms = {}, keys } = answer;
    const { direct, invites, upgrades, powers, roomList, crypto, log, own } = this.#parts;
    const late = keys && crypto && (await crypto.receive(keys, since === undefined));
    for (const { type, content } of data?.events ?? []) {
      if (type === "m.direct") direct.replace(content as DirectRooms);
    }
    for (const [roomId, invited] of Object.entries(rooms.invite ?? {})) {
      const hasJoined = await invites.answer(roomId, invited, upgrades.isExpected(roomId));
      if (!hasJoined) continue;
      roomList.joined(roomId);
      void roomList.readRoom(roomId);
      await upgrades.arrived(roomId);
    }
    for (const [roomId, left] of Object.entries(rooms.leave ?? {})) {
      logRemoval(log, own, roomId, left);
      direct.membershipChanged(roomId);
      powers.changed(roomId);
      roomList.left(roomId);
    }
    for (const roomId of Object.keys(rooms.join ?? {})) roomList.joined(roomId);
    // At the first start, the answer contains events from before the start, which are not reported.
    if (since === undefined) return;
    const joined = Object.entries(rooms.join ?? {});
    const tasks: MemberTask[] = [];
    for (const { roomId, event } of late ?? []) tasks.push(...(await this.#readEvents(roomId, [event])));
    for (const [roomId, room] of joined) tasks.push(...(await this.#readRoom(roomId, room, since)));
    await runByMember(tasks, MEMBERS_AT_ONCE);
  }

  async #readRoom(roomId: string, joined: JoinedRoom, since: string): Promise<readonly MemberTask[]> {
    const { api, own, log, signal, crypto } = this.#parts;
    const onFailure = (error: unknown): void => {
      log.warn({ roomId, problem: (error as Error).message }, "cannot fetch older events of a room");
    };
    const events = await newEvents(api, { id: roomId, own, since }, joined, { signal, onFailure });
    for (const event of joined.state?.events ?? []) await this.#readState(roomId, event);
    return this.#readEvents(roomId, crypto === undefined ? events : await crypto.read(roomId, events));
  }

  async #readEvents(roomId: string, events: readonly MatrixEvent[]): Promise<readonly MemberTask[]> {
    const { log, signal } = this.#parts;
    const tasks: MemberTask[] = [];
    const view = this.#viewOf(roomId);
    for (const event of events) {
      try {
        const task = await this.#readEvent(roomId, view, event);
        if (task !== undefined) tasks.push(task);
      } catch (error) {
        signal.throwIfAborted();
        // An event that cannot be read must not stop all later events.
        log.error({ roomId, eventId: event.event_id, err: error }, "skipped an event that cannot be read");
      }
    }
    return tasks;
  }

  /** Resolves to a task that reports a member's event; undefined if the event is not for the service. */
  async #readEvent(roomId: string, view: RoomView, event: MatrixEvent): Promise<MemberTask | undefined> {
    const { own, typing, reporter } = this.#parts;
    if (event.sender === own) await this.#readOwn(event);
    if (event.state_key !== undefined) await this.#readState(roomId, event);
    if (event.sender === own || event.state_key !== undefined) return undefined;
    const act = readEvent(event, view, { ...typing, nowMs: Date.now() });
    const { directMember } = view;
    if (act === undefined) return undefined;
    const report = { roomId, directMember, event, act, isUnasked: isUnasked(act, view) };
    return { member: event.sender, run: () => reporter.report(report) };
  }

  /** Updates the cached state of a room from a state event. */
  async #readState(roomId: string, event: MatrixEvent): Promise<void> {
    const { names, reporter, direct, invites, upgrades, powers, roomList, crypto } = this.#parts;
    names.read(roomId, event);
    crypto?.recipients.changed(roomId, event.type);
    if (event.type === "m.room.power_levels") {
      powers.changed(roomId);
      reporter.powersChanged(roomId);
      // The list of rooms says whether the bridge may speak. A failure is repaired when the next message is posted.
      void roomList.readRoom(roomId);
    }
    if (event.type === "m.room.member") direct.membershipChanged(roomId);
    if (event.type === "m.room.encryption") await invites.encrypted(roomId);
    if (event.type === "m.room.tombstone") await upgrades.follow(roomId, event);
  }

  /** Reads one of the bridge's own events. Resolves once the kit has saved its message. */
  async #readOwn(event: MatrixEvent): Promise<void> {
    const { timeline, unsaved } = this.#parts;
    const { type, target } = relationOf(event);
    if (type === "m.replace" && target !== undefined) this.#originals.set(event.event_id, target);
    const txnId = event.unsigned?.transaction_id;
    if (txnId === undefined) return;
    timeline.echoed(txnId);
    // Later events in the timeline can contain members' answers to this message.
    await unsaved.untilSaved(causeOf(txnId));
  }

  #viewOf(roomId: string): RoomView {
    const { bridge, direct, ids } = this.#parts;
    const directMember = direct.memberOf(roomId);
    const channel =
      directMember === undefined ? ids.toService(roomId) : dmChannel(ids.toService(directMember));
    return {
      directMember,
      shown: (target) => this.#shownAt(roomId, target),
      newestOf: (target) => {
        const found = bridge.shown(toChatId(roomId, this.#originalOf(target)));
        return found && this.#newestOf(roomId, found);
      },
      newest: () =>
        bridge
          .shownIn(channel)
          // The bridge shows an ephemeral message for the room in a direct room.
          .filter(({ user }) => user === null)
          .flatMap((found) => this.#newestOf(roomId, found) ?? []),
    };
  }

  /** Returns the newest event of a message that the bridge has already read in a room's timeline. */
  #newestOf(
    roomId: string,
    { chatMessageIds }: Pick<ShownMessage, "chatMessageIds">,
  ): ShownEvent | undefined {
    for (const id of chatMessageIds.toReversed()) {
      const { roomId: at, eventId } = readChatId(id);
      const found = at === roomId ? this.#shownAt(roomId, eventId) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #originalOf(target: string): string {
    return this.#originals.get(target) ?? target;
  }

  /** Returns a message of the bridge, as it was at the last position that the bridge has read in the timeline. */
  #shownAt(roomId: string, target: string): ShownEvent | undefined {
    const { bridge, timeline } = this.#parts;
    const eventId = this.#originalOf(target);
    const chatId = toChatId(roomId, eventId);
    const found = bridge.shown(chatId);
    if (found === undefined) return undefined;
    // Only the last event of a message shows its current state. The events before it are closed questions.
    const isLast = found.chatMessageIds.at(-1) === chatId;
    const message = timeline.at(eventId, isLast ? found.message : closed(found.message));
    return message && { eventId, message };
  }
}
