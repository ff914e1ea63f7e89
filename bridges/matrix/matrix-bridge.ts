import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isLoopback, type BridgeSettings, type RunningBridge, type Tools } from "chat-bridge-runner";
import type { SyncAnswer } from "./client/events";
import { MatrixApi } from "./client/matrix-api";
import { AccountRejected, MatrixError } from "./client/matrix-error";
import { createRequests } from "./client/request";
import { untilAnswered, type RetryOptions } from "./client/retrying";
import { createSession, type SavedSession, type Session } from "./client/session";
import { runSync, type SyncPosition } from "./client/sync-loop";
import { RoomCrypto } from "./crypto/room-crypto";
import { ConnectedRooms } from "./connected-rooms";
import type { MatrixSettings } from "./settings";
import { stateFile } from "./state-file";

/** Maximum milliseconds for which `close` waits: first for pending reports, then for pending calls to the chat. */
const STOP_REPORTS_MS = 3_000;
const STOP_CHAT_MS = 6_000;
/** Wait before the bridge follows the homeserver again after an unexpected rejection, ms. */
const REJECTED_PAUSE_MS = 30_000;

/** Starts the bridge. Resolves at once, and connects in the background: the service and the homeserver may be down. */
export async function startMatrixBridge(
  settings: BridgeSettings & MatrixSettings,
  { log, program, fail }: Tools,
): Promise<RunningBridge> {
  const { hostname, protocol } = new URL(settings.MATRIX_HOMESERVER);
  if (protocol === "http:" && !isLoopback(hostname)) {
    log.warn("MATRIX_HOMESERVER begins with http://: the access token is sent without encryption");
  }
  return new MatrixBridge(settings, { log, program, fail });
}

/** Follows the rooms of an account until `close` is called. */
class MatrixBridge implements RunningBridge {
  readonly #settings: BridgeSettings & MatrixSettings;
  readonly #log: Tools["log"];
  readonly #program: string;
  readonly #over = new AbortController();
  readonly #api: MatrixApi;
  readonly #session: Session;
  readonly #retry: RetryOptions;
  readonly #running: Promise<void>;
  /** Undefined before the first login, and if encryption is off. */
  #crypto: RoomCrypto | undefined;
  /** Undefined before the first login. */
  #rooms: ConnectedRooms | undefined;
  /** Reason why the homeserver is unreachable; undefined while the bridge is connected. */
  #problem: string | undefined = "not yet connected";

  constructor(
    settings: BridgeSettings & MatrixSettings,
    { log, program, fail }: Pick<Tools, "log" | "program" | "fail">,
  ) {
    const { STATE_FOLDER: folder, MATRIX_HOMESERVER: homeserver, WORKSPACE_ID: workspaceId } = settings;
    const credentials = {
      homeserver,
      accessToken: settings.MATRIX_ACCESS_TOKEN,
      user: settings.MATRIX_USER,
      password: settings.MATRIX_PASSWORD,
    };
    const file = stateFile<SavedSession>(join(folder, "session.json"));
    this.#settings = settings;
    this.#log = log;
    this.#program = program;
    this.#api = new MatrixApi(
      createRequests(homeserver, () => this.#session.token()),
      (eventId) => log.warn({ eventId }, "skipped an event of the homeserver: a field is missing or invalid"),
    );
    this.#session = createSession(credentials, workspaceId, file, () => this.#api);
    const { signal } = this.#over;
    this.#retry = { signal, onFailure: (failure) => this.#onContact(failure) };
    this.#running = this.#run().catch((error: unknown) => {
      if (signal.aborted) return;
      if (!(error instanceof AccountRejected)) log.error({ err: error }, "the bridge failed");
      fail((error as Error).message);
    });
  }

  states() {
    const problem = this.#problem;
    return {
      service: this.#rooms?.bridge.status ?? { isConnected: false, problem: "not yet connected" },
      homeserver: { isConnected: problem === undefined, problem },
    };
  }

  rooms() {
    return this.#rooms?.list.states() ?? [];
  }

  async close(): Promise<void> {
    this.#over.abort();
    await Promise.race([this.#running, sleep(STOP_REPORTS_MS)]);
    // Events that the homeserver has not yet accepted are not lost. Either the cursor is still before these events, or
    // the kit has stored their pushes, so the next run applies them.
    await Promise.race([this.#rooms?.bridge.stop(), sleep(STOP_CHAT_MS)]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    const [api, log, retry] = [this.#api, this.#log, this.#retry];
    const userId = await this.#session.open(retry);
    this.#crypto = await this.#openCrypto(userId);
    const joined = await untilAnswered(() => api.joinedRooms(), retry);
    const rooms = new ConnectedRooms({
      settings: this.#settings,
      program: this.#program,
      api,
      userId,
      crypto: this.#crypto,
      log,
      signal,
    });
    this.#rooms = rooms;
    await untilAnswered(() => rooms.open(joined), retry);
    this.#onContact(undefined);
    log.info({ userId, rooms: joined.length }, "signed in to the homeserver");
    await rooms.start(joined);
    await this.#follow(rooms, userId);
  }

  /** Follows the rooms. If the homeserver no longer accepts the token, logs in again. */
  async #follow({ sync }: ConnectedRooms, userId: string): Promise<void> {
    const { signal } = this.#over;
    const position = stateFile<SyncPosition>(join(this.#settings.STATE_FOLDER, "sync.json"));
    const onContact = (failure: unknown): void => this.#onContact(failure);
    const handle = (answer: SyncAnswer, since: string | undefined) => sync.handle(answer, since);
    while (!signal.aborted) {
      try {
        await runSync({ api: this.#api, position, userId, handle, onContact, signal });
      } catch (error) {
        signal.throwIfAborted();
        onContact(error);
        if (!(error instanceof MatrixError)) throw error;
        if (error.isTokenRejected) await this.#logInAgain();
        else await sleep(REJECTED_PAUSE_MS, undefined, { signal });
      }
    }
  }

  async #logInAgain(): Promise<void> {
    await this.#session.open(this.#retry);
    // The homeserver may have removed the keys of the device.
    await this.#publish(this.#crypto);
  }

  /** Reads or creates the keys of the bridge's device, and publishes them. */
  async #openCrypto(userId: string): Promise<RoomCrypto | undefined> {
    if (!this.#settings.MATRIX_ENCRYPTION) return undefined;
    const [api, log, retry, folder] = [this.#api, this.#log, this.#retry, this.#settings.STATE_FOLDER];
    const deviceId = this.#session.device();
    if (deviceId === undefined) {
      throw new AccountRejected("MATRIX_ENCRYPTION needs the access token of a device: log in with a client");
    }
    const crypto = await RoomCrypto.open(deviceId, { api, userId, folder, log, signal: retry.signal });
    await this.#publish(crypto);
    log.info({ deviceId: this.#session.device() }, "encryption is on");
    return crypto;
  }

  #publish(crypto: RoomCrypto | undefined): Promise<void> {
    const renew = () => this.#session.renew(this.#retry);
    return untilAnswered(async () => crypto?.publish(renew), this.#retry);
  }

  /** Notes the result of a request to the homeserver: a failure, or undefined for an answer. */
  #onContact(failure: unknown): void {
    const problem = failure === undefined ? undefined : (failure as Error).message;
    if (problem !== this.#problem) {
      if (problem === undefined) this.#log.info("connected to the homeserver");
      else this.#log.warn({ problem }, "no connection to the homeserver: retrying");
    }
    this.#problem = problem;
  }
}
