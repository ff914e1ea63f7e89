import type { DirectRooms, MatrixEvent, SyncAnswer } from "./events";
import { fieldsOf, textsOf } from "./fields";
import { isRejected } from "./matrix-error";
import { readEvents, readSync, type OnSkipped } from "./read-answer";
import { pathOf, type MatrixRequest, type SendRequest } from "./request";

/** Milliseconds for which the homeserver may hold a sync request. */
export const SYNC_HOLD_MS = 30_000;
/** Milliseconds that the answer to a sync may take after the homeserver has stopped holding the sync. */
const SYNC_GRACE_MS = 30_000;
/** Maximum number of events that one request for older events returns. */
const PAGE_EVENTS = 100;
/** Maximum number of reactions that are read from a message. The bridge's own reactions are usually the oldest. */
const REACTIONS_READ = 50;

/** An event of a room before it is sent. */
export interface SentEvent {
  readonly type: string;
  readonly content: object;
}

export interface Login {
  readonly user_id: string;
  readonly device_id: string;
  readonly access_token: string;
}

/** The calls of the client-server API (v1.11) that the bridge needs. Each call makes one request. */
export class MatrixApi {
  readonly #request: SendRequest;
  readonly #onSkipped: OnSkipped;
  /** Returns the event to send instead of `event`. The bridge encrypts events here. */
  seal: (roomId: string, event: SentEvent, signal?: AbortSignal) => Promise<SentEvent> = async (_, event) =>
    event;

  /** @param onSkipped called with each event that is skipped because it is malformed */
  constructor(request: SendRequest, onSkipped: OnSkipped) {
    this.#request = request;
    this.#onSkipped = onSkipped;
  }

  login(user: string, password: string, device: { readonly id: string; readonly name: string }) {
    return this.#post<Login>("/_matrix/client/v3/login", {
      type: "m.login.password",
      identifier: { type: "m.id.user", user },
      password,
      device_id: device.id,
      initial_device_display_name: device.name,
    });
  }

  whoAmI() {
    return this.#get<{ user_id: string; device_id?: string }>("/_matrix/client/v3/account/whoami");
  }

  async sync(options: {
    since?: string | undefined;
    filter: object;
    holdMs: number;
    signal: AbortSignal;
  }): Promise<SyncAnswer> {
    const answer = await this.#request<unknown>({
      method: "GET",
      path: "/_matrix/client/v3/sync",
      query: {
        since: options.since,
        filter: JSON.stringify(options.filter),
        timeout: String(options.holdMs),
        set_presence: "online",
      },
      signal: options.signal,
      timeoutMs: options.holdMs + SYNC_GRACE_MS,
    });
    return readSync(answer, this.#onSkipped);
  }

  /** Sends an event, as `seal` returns it. A repeat with the same transaction id changes nothing, and resolves to the same event id. */
  async send(roomId: string, type: string, txnId: string, content: object, signal?: AbortSignal) {
    const sent = await this.seal(roomId, { type, content }, signal);
    const path = pathOf`/_matrix/client/v3/rooms/${roomId}/send/${sent.type}/${txnId}`;
    return (await this.#put<{ event_id: string }>(path, sent.content, signal)).event_id;
  }

  /** Removes the content of an event. A repeat with the same transaction id has no effect. */
  async redact(roomId: string, eventId: string, txnId: string, signal?: AbortSignal): Promise<void> {
    await this.#put(pathOf`/_matrix/client/v3/rooms/${roomId}/redact/${eventId}/${txnId}`, {}, signal);
  }

  /** Resolves to the content of a state event; undefined if the room has no such event. */
  state<T>(roomId: string, type: string, key = ""): Promise<Partial<T> | undefined> {
    return ifFound(this.#get(pathOf`/_matrix/client/v3/rooms/${roomId}/state/${type}/${key}`));
  }

  /**
   * Resolves to a whole state event, with its sender; undefined if the room has no such event. A homeserver that does
   * not know the parameter `format` answers with the content only.
   */
  stateEvent(roomId: string, type: string, key = ""): Promise<unknown> {
    const path = pathOf`/_matrix/client/v3/rooms/${roomId}/state/${type}/${key}`;
    return ifFound(this.#get(path, { format: "event" }));
  }

  /** Joins a room. `via` is a server through which the homeserver can join, if it is not in the room yet. */
  join(roomId: string, via?: string): Promise<unknown> {
    const path = pathOf`/_matrix/client/v3/join/${roomId}`;
    // Older homeservers read `server_name` instead of `via`.
    return this.#request({ method: "POST", path, query: { via, server_name: via }, body: {} });
  }

  /** Leaves a room, or rejects the invite. */
  leave(roomId: string) {
    return this.#post(pathOf`/_matrix/client/v3/rooms/${roomId}/leave`, {});
  }

  async joinedRooms(): Promise<readonly string[]> {
    return textsOf(fieldsOf(await this.#get("/_matrix/client/v3/joined_rooms"))["joined_rooms"]);
  }

  /** Resolves to the members of a room, without those who left. */
  async members(roomId: string): Promise<readonly { readonly id: string; readonly membership: unknown }[]> {
    const path = pathOf`/_matrix/client/v3/rooms/${roomId}/members`;
    const { chunk } = fieldsOf(await this.#get(path, { not_membership: "leave" }));
    const events = readEvents(chunk, this.#onSkipped);
    return events.map(({ state_key: id = "", content }) => ({ id, membership: content["membership"] }));
  }

  /** Creates a direct room and invites the member. */
  async createDirectRoom(userId: string, isEncrypted: boolean, signal?: AbortSignal): Promise<string> {
    const encryption = {
      type: "m.room.encryption",
      state_key: "",
      content: { algorithm: "m.megolm.v1.aes-sha2" },
    };
    const body = {
      preset: "trusted_private_chat",
      is_direct: true,
      invite: [userId],
      ...(isEncrypted && { initial_state: [encryption] }),
    };
    return (await this.#post<{ room_id: string }>("/_matrix/client/v3/createRoom", body, signal)).room_id;
  }

  directRooms(own: string): Promise<DirectRooms | undefined> {
    return ifFound(this.#get(directRoomsPath(own)));
  }

  setDirectRooms(own: string, rooms: DirectRooms) {
    return this.#put(directRoomsPath(own), rooms);
  }

  /** Uploads a file, and resolves to its `mxc:` URI. */
  async upload(bytes: Buffer, contentType: string, filename: string, signal?: AbortSignal) {
    const path = "/_matrix/media/v3/upload";
    const body = { bytes, contentType };
    const sent = { method: "POST", path, query: { filename }, body, signal } as const;
    return (await this.#request<{ content_uri: string }>(sent)).content_uri;
  }

  /** Resolves to the oldest reactions to a message. */
  async reactions(roomId: string, eventId: string, signal?: AbortSignal): Promise<readonly MatrixEvent[]> {
    const path = pathOf`/_matrix/client/v1/rooms/${roomId}/relations/${eventId}/${"m.annotation"}/${"m.reaction"}`;
    const answer = await this.#get(path, { dir: "f", limit: String(REACTIONS_READ) }, signal);
    return readEvents(fieldsOf(answer)["chunk"], this.#onSkipped);
  }

  /** Resolves to events of a room, the newest first, from `from` back to the sync token `to`. */
  async olderEvents(
    roomId: string,
    range: { from: string; to: string },
    filter: object,
    signal: AbortSignal,
  ): Promise<{ chunk: readonly MatrixEvent[]; end?: string }> {
    const path = pathOf`/_matrix/client/v3/rooms/${roomId}/messages`;
    const query = { ...range, dir: "b", limit: String(PAGE_EVENTS), filter: JSON.stringify(filter) };
    const { chunk, end } = fieldsOf(await this.#get(path, query, signal));
    return { chunk: readEvents(chunk, this.#onSkipped), ...(typeof end === "string" && { end }) };
  }

  /** Sends a request about keys of devices: `upload`, `query`, `claim` or `signatures/upload`. */
  postKeys(what: string, body: object, signal?: AbortSignal): Promise<unknown> {
    return this.#post(`/_matrix/client/v3/keys/${what}`, body, signal);
  }

  /** Sends an event to devices. A repeat with the same transaction id has no effect. */
  sendToDevice(type: string, txnId: string, body: object, signal?: AbortSignal): Promise<unknown> {
    return this.#put(pathOf`/_matrix/client/v3/sendToDevice/${type}/${txnId}`, body, signal);
  }

  #get<T>(path: string, query?: MatrixRequest["query"], signal?: AbortSignal): Promise<T> {
    return this.#request({ method: "GET", path, query, signal });
  }

  #put<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: "PUT", path, body, signal });
  }

  #post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
    return this.#request({ method: "POST", path, body, signal });
  }
}

function directRoomsPath(own: string): string {
  return pathOf`/_matrix/client/v3/user/${own}/account_data/${"m.direct"}`;
}

/** Resolves to undefined if the homeserver answers with `M_NOT_FOUND`. */
async function ifFound<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isRejected(error, "M_NOT_FOUND")) return undefined;
    throw error;
  }
}
