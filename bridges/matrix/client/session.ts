import { createHash } from "node:crypto";
import type { StateFile } from "../state-file";
import type { MatrixApi } from "./matrix-api";
import { MatrixError } from "./matrix-error";
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
}

/** Thrown when the bridge cannot use the account with these settings. The message names the setting to change. */
export class AccountRejected extends Error {
  override readonly name = "AccountRejected";
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

  async function saved(): Promise<string | undefined> {
    const found = await file.load();
    return found?.homeserver === homeserver && found.user === user ? found.accessToken : undefined;
  }

  async function logIn(options: RetryOptions): Promise<string> {
    const device = { id: deviceId(workspaceId), name: "chat-bridge-matrix" };
    try {
      const login = await untilAnswered(() => api().login(user, password, device), options);
      token = login.access_token;
      await file.save({ homeserver, user, userId: login.user_id, accessToken: token });
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
    /** Resolves to the id of the bridge's account. Logs in if there is no valid token, and retries while there is no answer. */
    async open(options: RetryOptions): Promise<string> {
      token = accessToken ?? (await saved());
      if (token === undefined) return logIn(options);
      try {
        return (await untilAnswered(() => api().whoAmI(), options)).user_id;
      } catch (error) {
        if (!(error instanceof MatrixError)) throw error;
        if (accessToken === undefined && error.isTokenRejected) {
          token = undefined;
          return logIn(options);
        }
        const check = accessToken === undefined ? "" : " and MATRIX_ACCESS_TOKEN";
        throw new AccountRejected(`${error.message} to the access token: check MATRIX_HOMESERVER${check}`);
      }
    },
  };
}

/** Returns the id of the bridge's device, which depends only on the workspace. */
function deviceId(workspaceId: string): string {
  return `CHATBRIDGE${createHash("sha256").update(workspaceId).digest("hex").slice(0, 10).toUpperCase()}`;
}
