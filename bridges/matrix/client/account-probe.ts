import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fieldsOf } from "./fields";
import { MatrixApi } from "./matrix-api";
import { MatrixError } from "./matrix-error";
import { createRequests, pathOf, type SendRequest } from "./request";
import { untilAnswered } from "./retrying";

/** Number of messages after which an account counts as unlimited. The default limit of Synapse allows 10 at once. */
const MESSAGES_SENT = 20;
const WAIT_MAX_MS = 30_000;
const LEAVE_WITHIN_MS = 60_000;

export interface Account {
  readonly userId: string;
  readonly isGuest: boolean;
  /** Number of rooms that the account is in. */
  readonly rooms: number;
  /** Whether the account is an administrator of a Synapse server; undefined for other homeservers. */
  readonly isAdministrator: boolean | undefined;
}

/** The rate limit of an account: the number of messages that the account can send at once, and then per second. */
export interface RateLimit {
  readonly atOnce: number;
  readonly perSecond: number;
}

/** A session that finds out what the bridge's account may do. */
export class AccountProbe {
  readonly #request: SendRequest;
  readonly #api: MatrixApi;
  #token: string | undefined;
  #isLoggedIn = false;

  constructor(homeserver: string, accessToken: string | undefined) {
    this.#token = accessToken;
    this.#request = createRequests(homeserver, () => this.#token);
    this.#api = new MatrixApi(this.#request, () => undefined);
  }

  /** Logs in with a separate device, which `close` removes. */
  async logIn(user: string, password: string): Promise<void> {
    const device = { id: `CHATBRIDGEINIT${randomUUID().slice(0, 8)}`, name: "chat-bridge-matrix init" };
    this.#token = (await this.#api.login(user, password, device)).access_token;
    this.#isLoggedIn = true;
  }

  async account(): Promise<Account> {
    const answer = await this.#api.whoAmI();
    const { user_id: userId } = answer;
    const isGuest = fieldsOf(answer)["is_guest"] === true;
    const rooms = (await this.#api.joinedRooms()).length;
    return { userId, isGuest, rooms, isAdministrator: await this.#isAdministrator(userId) };
  }

  /**
   * Creates a private room, sends messages to the room, and leaves the room. Resolves to the rate limit; undefined if
   * the account has no limit that a game would notice.
   */
  async rateLimit(): Promise<RateLimit | undefined> {
    const body = { preset: "private_chat", name: "A check of chat-bridge-matrix init" };
    const path = "/_matrix/client/v3/createRoom";
    const { room_id: room } = await this.#request<{ room_id: string }>({ method: "POST", path, body });
    try {
      const first = await this.#sendUntilLimited(room);
      if (first === undefined) return undefined;
      // The first wait can be short, because time has passed since the first message. The next wait is the full wait
      // for one message.
      await sleep(Math.min(first.waitMs, WAIT_MAX_MS));
      const next = await this.#sendUntilLimited(room);
      if (next === undefined) return undefined;
      return { atOnce: first.sent, perSecond: next.waitMs > 0 ? 1_000 / next.waitMs : 0 };
    } finally {
      // The rate limit also applies to these requests.
      const retry = { signal: AbortSignal.timeout(LEAVE_WITHIN_MS) };
      await untilAnswered(() => this.#api.leave(room), retry);
      const forget = pathOf`/_matrix/client/v3/rooms/${room}/forget`;
      await untilAnswered(() => this.#request({ method: "POST", path: forget, body: {} }), retry);
    }
  }

  async close(): Promise<void> {
    if (!this.#isLoggedIn) return;
    this.#isLoggedIn = false;
    await this.#request({ method: "POST", path: "/_matrix/client/v3/logout", body: {} });
  }

  /**
   * Sends messages until the rate limit rejects one. Resolves to undefined if it rejects none. `waitMs` is 0 if the
   * homeserver gives no wait.
   */
  async #sendUntilLimited(room: string): Promise<{ sent: number; waitMs: number } | undefined> {
    const content = { msgtype: "m.notice", body: "This message measures the rate limit of the account." };
    for (let sent = 0; sent < MESSAGES_SENT; sent++) {
      try {
        await this.#api.send(room, "m.room.message", randomUUID(), content);
      } catch (error) {
        if (!(error instanceof MatrixError) || !error.isRateLimit) throw error;
        return { sent, waitMs: error.retryAfterMs };
      }
    }
    return undefined;
  }

  async #isAdministrator(userId: string): Promise<boolean | undefined> {
    try {
      const path = pathOf`/_synapse/admin/v1/users/${userId}/admin`;
      return fieldsOf(await this.#request({ method: "GET", path }))["admin"] === true;
    } catch (error) {
      // Synapse allows this request only to administrators.
      return error instanceof MatrixError && error.errcode === "M_FORBIDDEN" ? false : undefined;
    }
  }
}
