import { createHash, randomBytes } from "node:crypto";
import type { StateFile } from "../state-file";
import type { MatrixApi } from "./matrix-api";
import { AccountRejected, MatrixError } from "./matrix-error";
import { untilAnswered, type RetryOptions } from "./retrying";

/** The configured credentials: an access token, or the name and the password of the account. */
export interface Credentials {
  readonly homeserver: string;
  readonly accessToken: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

/** The content of `session.json`. */
export interface SavedSession {
  readonly homeserver: string;
  readonly user: string;
  readonly userId: string;
  readonly accessToken: string;
  /** Id of the device; undefined if it is the default one, which the function `deviceId` returns. */
  readonly deviceId?: string;
}

export type Session = ReturnType<typeof createSession>;

/**
 * Returns the session of the bridge's account. The bridge logs in with the password only once, and keeps the token in
 * `file`. The device has the same id at every login, because the homeserver detects repeated transaction ids for each
 * device separately.
 *
 * @param api the calls to the homeserver, which must use `token` of the returned session
 */
export function createSession(
  credentials: Credentials,
  workspaceId: string,
  file: StateFile<SavedSession>,
  api: () => Pick<MatrixApi, "login" | "whoAmI">,
) {
  const { homeserver, accessToken, user = "", password = "" } = credentials;
  let token = accessToken;
  let device: string | undefined;

  async function saved(): Promise<SavedSession | undefined> {
    const found = await file.load();
    return found?.homeserver === homeserver && found.user === user ? found : undefined;
  }

  async function logIn(options: RetryOptions, id: string): Promise<string> {
    try {
      const login = await untilAnswered(
        () => api().login(user, password, { id, name: "chat-bridge-matrix" }),
        options,
      );
      token = login.access_token;
      device = id;
      await file.save({ homeserver, user, userId: login.user_id, accessToken: token, deviceId: id });
      return login.user_id;
    } catch (error) {
      if (!(error instanceof MatrixError)) throw error;
      throw new AccountRejected(
        `${error.message} to the login: check MATRIX_HOMESERVER, MATRIX_USER and MATRIX_PASSWORD`,
      );
    }
  }

  return {
    /** The access token; undefined before the first login. */
    token: () => token,
    /** The id of the device that is logged in; undefined if the access token belongs to no device. */
    device: () => device,
    /** Resolves to the id of the bridge's account. Logs in if there is no valid token, and retries while there is no answer. */
    async open(options: RetryOptions): Promise<string> {
      const found = accessToken === undefined ? await saved() : undefined;
      const id = found?.deviceId ?? deviceId(workspaceId);
      token = accessToken ?? found?.accessToken;
      if (token === undefined) return logIn(options, id);
      try {
        const { user_id: userId, device_id: current } = await untilAnswered(() => api().whoAmI(), options);
        device = current;
        return userId;
      } catch (error) {
        if (!(error instanceof MatrixError)) throw error;
        if (accessToken === undefined && error.isTokenRejected) {
          token = undefined;
          return logIn(options, id);
        }
        const check = accessToken === undefined ? "" : " and MATRIX_ACCESS_TOKEN";
        throw new AccountRejected(`${error.message} to the access token: check MATRIX_HOMESERVER${check}`);
      }
    },
    /** Logs in as a new device, because the keys of the current device are lost. Resolves to the id of the device. */
    async renew(options: RetryOptions): Promise<string> {
      if (accessToken !== undefined) {
        throw new AccountRejected(
          "the state folder lacks the keys of this device: log in again, and give the new MATRIX_ACCESS_TOKEN",
        );
      }
      const suffix = randomBytes(4).toString("hex").toUpperCase();
      const id = `${deviceId(workspaceId)}${suffix}`;
      await logIn(options, id);
      return id;
    },
  };
}

/** Returns the id of the bridge's device, which depends only on the workspace. */
function deviceId(workspaceId: string): string {
  return `CHATBRIDGE${createHash("sha256").update(workspaceId).digest("hex").slice(0, 10).toUpperCase()}`;
}
