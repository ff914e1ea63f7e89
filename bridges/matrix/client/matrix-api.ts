import type { DirectRooms, MatrixEvent, SyncAnswer } from "./events";
import { fieldsOf, textsOf } from "./fields";
import { isRejected } from "./matrix-error";
import { readEvents, readSync, type OnSkipped } from "./read-answer";
import { pathOf, type SendRequest } from "./request";

/** Milliseconds that the homeserver may hold a sync. */
export const SYNC_HOLD_MS = 30_000;
/** Milliseconds that the answer of a sync may take beyond the hold. */
const SYNC_GRACE_MS = 30_000;
/** Maximum number of events that one request for older events returns. */
const PAGE_EVENTS = 100;
/** Maximum number of reactions that are read from a message. The bridge's own reactions are usually the oldest. */
const REACTIONS_READ = 50;

export interface Login {
  readonly user_id: string;
  readonly device_id: string;
  readonly access_token: string;
}

export type MatrixApi = ReturnType<typeof createMatrixApi>;

/**
 * Returns the calls of the client-server API (v1.11) that the bridge needs. Each call makes one request.
 *
 * @param onSkipped called with each event that is skipped because of its form
 */
export function createMatrixApi(request: SendRequest, onSkipped: OnSkipped) {
  /** Resolves to undefined if the homeserver answers with `M_NOT_FOUND`. */
  async function ifFound<T>(found: Promise<T>): Promise<T | undefined> {
    try {
      return await found;
    } catch (error) {
      if (isRejected(error, "M_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  return {
    login: (user: string, password: string, device: { readonly id: string; readonly name: string }) =>
      request<Login>({
        method: "POST",
        path: "/_matrix/client/v3/login",
        body: {
          type: "m.login.password",
          identifier: { type: "m.id.user", user },
          password,
          device_id: device.id,
          initial_device_display_name: device.name,
        },
      }),

    whoAmI: () => request<{ user_id: string }>({ method: "GET", path: "/_matrix/client/v3/account/whoami" }),

    async sync(options: {
      since?: string | undefined;
      filter: object;
      holdMs: number;
      signal: AbortSignal;
    }): Promise<SyncAnswer> {
      const answer = await request<unknown>({
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
      return readSync(answer, onSkipped);
    },

    /** Sends an event. A repeat with the same transaction id has no effect, and resolves to the same event id. */
    async send(roomId: string, type: string, txnId: string, content: object, signal?: AbortSignal) {
      const path = pathOf`/_matrix/client/v3/rooms/${roomId}/send/${type}/${txnId}`;
      return (await request<{ event_id: string }>({ method: "PUT", path, body: content, signal })).event_id;
    },

    /** Removes the content of an event. A repeat with the same transaction id has no effect. */
    async redact(roomId: string, eventId: string, txnId: string, signal?: AbortSignal): Promise<void> {
      const path = pathOf`/_matrix/client/v3/rooms/${roomId}/redact/${eventId}/${txnId}`;
      await request({ method: "PUT", path, body: {}, signal });
    },

    /** Resolves to the content of a state event; undefined if the room has none. */
    state: <T>(roomId: string, type: string, key = "") =>
      ifFound(
        request<Partial<T>>({
          method: "GET",
          path: pathOf`/_matrix/client/v3/rooms/${roomId}/state/${type}/${key}`,
        }),
      ),

    join: (roomId: string) =>
      request({ method: "POST", path: pathOf`/_matrix/client/v3/rooms/${roomId}/join`, body: {} }),

    /** Leaves a room, or rejects the invite. */
    leave: (roomId: string) =>
      request({ method: "POST", path: pathOf`/_matrix/client/v3/rooms/${roomId}/leave`, body: {} }),

    async joinedRooms(): Promise<readonly string[]> {
      const path = "/_matrix/client/v3/joined_rooms";
      return textsOf(fieldsOf(await request<unknown>({ method: "GET", path }))["joined_rooms"]);
    },

    /** Creates a direct room and invites the member. */
    async createDirectRoom(userId: string, signal?: AbortSignal): Promise<string> {
      const body = { preset: "trusted_private_chat", is_direct: true, invite: [userId] };
      const path = "/_matrix/client/v3/createRoom";
      return (await request<{ room_id: string }>({ method: "POST", path, body, signal })).room_id;
    },

    directRooms: (own: string) =>
      ifFound(
        request<DirectRooms>({
          method: "GET",
          path: pathOf`/_matrix/client/v3/user/${own}/account_data/${"m.direct"}`,
        }),
      ),

    setDirectRooms: (own: string, rooms: DirectRooms) =>
      request({
        method: "PUT",
        path: pathOf`/_matrix/client/v3/user/${own}/account_data/${"m.direct"}`,
        body: rooms,
      }),

    /** Uploads a file, and resolves to its `mxc:` URI. */
    async upload(bytes: Buffer, contentType: string, filename: string, signal?: AbortSignal) {
      const path = "/_matrix/media/v3/upload";
      const sent = {
        method: "POST",
        path,
        query: { filename },
        body: { bytes, contentType },
        signal,
      } as const;
      return (await request<{ content_uri: string }>(sent)).content_uri;
    },

    /** Resolves to the oldest reactions to a message. */
    async reactions(roomId: string, eventId: string, signal?: AbortSignal): Promise<readonly MatrixEvent[]> {
      const path = pathOf`/_matrix/client/v1/rooms/${roomId}/relations/${eventId}/${"m.annotation"}/${"m.reaction"}`;
      const query = { dir: "f", limit: String(REACTIONS_READ) };
      const answer = await request<unknown>({ method: "GET", path, query, signal });
      return readEvents(fieldsOf(answer)["chunk"], onSkipped);
    },

    /** Resolves to events of a room, the newest first, from `from` back to the sync token `to`. */
    async olderEvents(
      roomId: string,
      range: { from: string; to: string },
      filter: object,
      signal: AbortSignal,
    ): Promise<{ chunk: readonly MatrixEvent[]; end?: string }> {
      const answer = await request<unknown>({
        method: "GET",
        path: pathOf`/_matrix/client/v3/rooms/${roomId}/messages`,
        query: { ...range, dir: "b", limit: String(PAGE_EVENTS), filter: JSON.stringify(filter) },
        signal,
      });
      const { chunk, end } = fieldsOf(answer);
      return { chunk: readEvents(chunk, onSkipped), ...(typeof end === "string" && { end }) };
    },
  };
}
