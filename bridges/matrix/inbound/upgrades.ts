import type { BridgeSettings, Logger } from "chat-bridge-runner";
import { LRUCache } from "lru-cache";
import { toNotice } from "../chat/content";
import type { DirectRoomIndex } from "../chat/direct-rooms";
import type { MatrixEvent } from "../client/events";
import { fieldsOf } from "../client/fields";
import type { MatrixApi } from "../client/matrix-api";
import { joinRoom } from "../client/join-room";
import { serverOf } from "../ids";
import { createAttempts, type Attempts } from "./attempts";

export interface UpgradeParts {
  readonly api: Pick<MatrixApi, "join" | "leave" | "send" | "state">;
  readonly direct: Pick<DirectRoomIndex, "memberOf" | "add">;
  readonly typing: Pick<BridgeSettings, "COMMAND_PREFIX" | "COMMAND_WORD">;
  /** Called when the bridge has joined a new room. Resolves to whether the bridge can play there. */
  settle(roomId: string): Promise<boolean>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const UPGRADES_KEPT = 1_000;

/**
 * Follows the upgrades of rooms: an upgrade replaces a room with a new room. For the service, the new room is another
 * channel, so a game in the old room ends.
 *
 * Only members with the power to do so can upgrade a room. The new room must name the old one as its predecessor, so
 * that nobody can make the bridge join a stranger's room.
 */
export class Upgrades {
  readonly #parts: UpgradeParts;
  readonly #attempts: Attempts;
  /** Maps the id of a new room to the room that it replaces, until the bridge has moved. */
  readonly #expected = new LRUCache<string, string>({ max: UPGRADES_KEPT });

  constructor(parts: UpgradeParts) {
    this.#parts = parts;
    this.#attempts = createAttempts(parts);
  }

  /** Whether the bridge waits for an invite to this room. */
  isExpected(roomId: string): boolean {
    return this.#expected.has(roomId);
  }

  /** Follows the upgrade that a room's event `m.room.tombstone` announces. Rejects only when the bridge stops. */
  async follow(roomId: string, { sender, content }: MatrixEvent): Promise<void> {
    const { api, signal } = this.#parts;
    const replacement = fieldsOf(content)["replacement_room"];
    if (typeof replacement !== "string" || !replacement.startsWith("!") || replacement === roomId) return;
    this.#expected.set(replacement, roomId);
    const join = () => joinRoom(api, replacement, { signal, via: serverOf(sender) });
    if ((await this.#attempts.once("join the room of an upgrade", replacement, join)) === undefined) {
      await this.#say(roomId, "This room was upgraded. Invite me to the new room to play there.");
      return;
    }
    await this.arrived(replacement);
  }

  /** Called when the bridge has joined a room. Leaves the replaced room, if any, and informs members in both rooms. */
  async arrived(roomId: string): Promise<void> {
    const { api, direct, typing, settle, log } = this.#parts;
    const replaced = this.#expected.get(roomId);
    if (replaced === undefined) return;
    this.#expected.delete(roomId);
    if (!(await this.#isSuccessor(roomId, replaced))) {
      log.warn({ roomId, replaced }, "left the room of an upgrade: it does not name the old room");
      await this.#attempts.untilAnswered("leave a room", roomId, () => api.leave(roomId));
      return;
    }
    if (!(await settle(roomId))) return;
    const member = direct.memberOf(replaced);
    if (member !== undefined)
      await this.#attempts.untilAnswered("save a direct room", roomId, () => direct.add(member, roomId));
    log.info({ roomId, replaced }, "followed the upgrade of a room");
    await this.#say(
      replaced,
      "This room was upgraded. Games continue in the new room, and a game in this room ends here.",
    );
    const command = `${typing.COMMAND_PREFIX}${typing.COMMAND_WORD}`;
    await this.#say(
      roomId,
      `This room replaces the old room, and a game in the old room ended there. To play, type ${command}.`,
    );
    await this.#attempts.untilAnswered("leave a replaced room", replaced, () => api.leave(replaced));
  }

  async #isSuccessor(roomId: string, replaced: string): Promise<boolean> {
    const read = () => this.#parts.api.state<{ predecessor: unknown }>(roomId, "m.room.create");
    const found = await this.#attempts.untilAnswered("read who created a room", roomId, read);
    return fieldsOf(found?.value?.predecessor)["room_id"] === replaced;
  }

  async #say(roomId: string, text: string): Promise<void> {
    const { api } = this.#parts;
    const txnId = `upgrade.${Date.now()}`;
    await this.#attempts.untilAnswered("send a notice", roomId, () =>
      api.send(roomId, "m.room.message", txnId, toNotice(text)),
    );
  }
}
