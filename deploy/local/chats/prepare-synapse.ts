import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { StartFault } from "../start-fault";
import { BRIDGE_ACCOUNT, MEMBERS, type ChatParts } from "./local-chat";
import { SERVER_NAME } from "./synapse-configuration";

const ANSWER_WITHIN_MS = 30_000;
/** Alias of the game's room. */
export const ALIAS = `#${BRIDGE_ACCOUNT}:${SERVER_NAME}`;

/** An error of the homeserver. */
class Refused extends Error {
  constructor(
    path: string,
    readonly code: string,
  ) {
    super(`${path}: ${code}`);
  }
}

/**
 * Creates the missing accounts, and the room if it does not exist. The bridge's account joins the room. Throws
 * StartFault when any step fails.
 */
export async function prepareSynapse(
  url: string,
  { folder, passwords }: ChatParts,
  signal: AbortSignal,
): Promise<void> {
  const api = createApi(url, signal);
  try {
    // Synapse creates the file `registration.secret` at its first start.
    const secret = readFileSync(join(folder, "registration.secret"), "utf8").trim();
    await register(api, secret, BRIDGE_ACCOUNT, passwords.bridge);
    for (const name of MEMBERS) await register(api, secret, name, passwords.members);
    const token = await logIn(api, passwords.bridge);
    await joinRoom(api, token);
    await api("/_matrix/client/v3/logout", {}, token);
  } catch (error) {
    signal.throwIfAborted();
    throw new StartFault(
      `Cannot prepare the Matrix homeserver (${(error as Error).message}). ` +
        `If settings.json was removed, also remove ${folder}, because its accounts have the old passwords.`,
    );
  }
}

/** Creates an account, unless it exists. */
async function register(api: Api, secret: string, username: string, password: string): Promise<void> {
  const path = "/_synapse/admin/v1/register";
  const { nonce } = await api<{ nonce: string }>(path);
  const mac = createHmac("sha1", secret)
    .update([nonce, username, password, "notadmin"].join("\0"))
    .digest("hex");
  try {
    await api(path, { nonce, username, password, admin: false, mac });
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== "M_USER_IN_USE") throw error;
  }
}

async function logIn(api: Api, password: string): Promise<string> {
  const identifier = { type: "m.id.user", user: BRIDGE_ACCOUNT };
  const body = { type: "m.login.password", identifier, password };
  return (await api<{ access_token: string }>("/_matrix/client/v3/login", body)).access_token;
}

async function joinRoom(api: Api, token: string): Promise<void> {
  try {
    await api(`/_matrix/client/v3/join/${encodeURIComponent(ALIAS)}`, {}, token);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== "M_NOT_FOUND") throw error;
    const room = {
      name: "Games",
      preset: "public_chat",
      visibility: "public",
      room_alias_name: BRIDGE_ACCOUNT,
    };
    await api("/_matrix/client/v3/createRoom", room, token);
  }
}

/** Sends a POST, or a GET without `body`. Rejects with Refused when the homeserver answers with an error. */
type Api = <T>(path: string, body?: object, token?: string) => Promise<T>;

function createApi(url: string, signal: AbortSignal): Api {
  return async <T>(path: string, body?: object, token?: string) => {
    const answer = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    });
    const json = (await answer.json()) as T & { errcode?: string };
    if (!answer.ok) throw new Refused(path, json.errcode ?? `status ${answer.status}`);
    return json;
  };
}
