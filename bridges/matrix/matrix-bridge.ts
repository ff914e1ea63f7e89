import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isLoopback, type BridgeSettings, type RunningBridge, type Tools } from "chat-bridge-runner";
import { createMatrixApi } from "./client/matrix-api";
import { MatrixError } from "./client/matrix-error";
import { createRequests } from "./client/request";
import { untilAnswered } from "./client/retrying";
import { AccountRejected, createSession } from "./client/session";
import { runSync } from "./client/sync-loop";
import { connectRooms, type ConnectedRooms } from "./connect-rooms";
import type { MatrixSettings } from "./settings";
import { stateFile } from "./state-file";

/** Milliseconds that `close` waits for pending reports, and then for pending calls to the chat. */
const STOP_REPORTS_MS = 3_000;
const STOP_CHAT_MS = 6_000;
/** Wait before the bridge follows the homeserver again after an unexpected rejection, ms. */
const REJECTED_PAUSE_MS = 30_000;

/** Starts the bridge. Resolves at once, and connects in the background: the service and the homeserver may be down. */
export async function startMatrixBridge(
  settings: BridgeSettings & MatrixSettings,
  { log, fail }: Tools,
): Promise<RunningBridge> {
  const { STATE_FOLDER: folder, MATRIX_HOMESERVER: homeserver, WORKSPACE_ID: workspaceId } = settings;
  const over = new AbortController();
  const { signal } = over;
  const { hostname, protocol } = new URL(homeserver);
  if (protocol === "http:" && !isLoopback(hostname)) {
    log.warn("MATRIX_HOMESERVER begins with http://: the access token is sent without encryption");
  }

  const credentials = {
    homeserver,
    accessToken: settings.MATRIX_ACCESS_TOKEN,
    user: settings.MATRIX_USER,
    password: settings.MATRIX_PASSWORD,
  };
  const api = createMatrixApi(
    createRequests(homeserver, () => session.token()),
    (eventId) => log.warn({ eventId }, "skipped an event of the homeserver: a field is missing or invalid"),
  );
  const session = createSession(credentials, workspaceId, stateFile(join(folder, "session.json")), () => api);

  let isConnected = false;
  let problem: string | undefined = "not yet connected";
  let rooms: ConnectedRooms | undefined;

  function onContact(failure: unknown): void {
    const why = failure === undefined ? undefined : (failure as Error).message;
    if (isConnected !== (why === undefined) || why !== problem) {
      if (why === undefined) log.info("connected to the homeserver");
      else log.warn({ problem: why }, "no connection to the homeserver: retrying");
    }
    isConnected = why === undefined;
    problem = why;
  }

  const retry = { signal, onFailure: onContact };

  /** Follows the rooms. If the homeserver no longer accepts the token, logs in again. */
  async function follow({ handleSync, userId }: ConnectedRooms): Promise<void> {
    const position = stateFile<{ userId: string; since: string }>(join(folder, "sync.json"));
    while (!signal.aborted) {
      try {
        await runSync({ api, position, userId, handle: handleSync, onContact, signal });
      } catch (error) {
        signal.throwIfAborted();
        onContact(error);
        if (!(error instanceof MatrixError)) throw error;
        if (error.isTokenRejected) await session.open(retry);
        else await sleep(REJECTED_PAUSE_MS, undefined, { signal });
      }
    }
  }

  async function run(): Promise<void> {
    const userId = await session.open(retry);
    const joined = await untilAnswered(() => api.joinedRooms(), retry);
    rooms = connectRooms({ settings, api, userId, log, signal });
    await untilAnswered(() => rooms?.open(joined) ?? Promise.resolve(), retry);
    onContact(undefined);
    log.info({ userId, rooms: joined.length }, "signed in to the homeserver");
    await rooms.start(joined);
    await follow(rooms);
  }

  const running = run().catch((error: unknown) => {
    if (signal.aborted) return;
    if (!(error instanceof AccountRejected)) log.error({ err: error }, "the bridge failed");
    fail((error as Error).message);
  });

  return {
    states: () => ({
      service: rooms?.bridge.status ?? { isConnected: false, problem: "not yet connected" },
      homeserver: { isConnected, problem },
    }),
    async close() {
      over.abort();
      await Promise.race([running, sleep(STOP_REPORTS_MS)]);
      // The next run applies the events that the homeserver has not accepted: the cursor is not moved, and the kit has
      // stored the pushes.
      await Promise.race([rooms?.bridge.stop(), sleep(STOP_CHAT_MS)]);
    },
  };
}
