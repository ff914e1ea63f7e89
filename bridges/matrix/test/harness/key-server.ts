import type { MatrixApi } from "../../client/matrix-api";
import type { KeyChanges } from "../../client/events";

type Api = Pick<MatrixApi, "postKeys" | "sendToDevice" | "members" | "state">;
interface Device {
  readonly keys: { readonly user_id: string; readonly device_id: string };
  readonly oneTimeKeys: Map<string, unknown>;
  inbox: unknown[];
}

/** A homeserver in memory that only exchanges keys. All accounts are members of all rooms. */
export function createKeyServer() {
  const devices = new Map<string, Device>();
  const idOf = (user: string, device: string) => `${user} ${device}`;
  const ofUser = (user: string) => [...devices.values()].filter(({ keys }) => keys.user_id === user);

  function upload(body: Record<string, never>): object {
    const { device_keys: keys, one_time_keys: oneTimeKeys = {} } = body as unknown as {
      device_keys?: Device["keys"];
      one_time_keys?: object;
    };
    if (keys === undefined) return { one_time_key_counts: { signed_curve25519: 50 } };
    const uploaded = new Map(Object.entries(oneTimeKeys));
    devices.set(idOf(keys.user_id, keys.device_id), { keys, oneTimeKeys: uploaded, inbox: [] });
    return { one_time_key_counts: { signed_curve25519: uploaded.size } };
  }

  function query({ device_keys: wanted }: Record<string, object>): object {
    const found = Object.keys(wanted ?? {}).map((user) => {
      return [user, Object.fromEntries(ofUser(user).map(({ keys }) => [keys.device_id, keys]))];
    });
    return { device_keys: Object.fromEntries(found), failures: {} };
  }

  function claim({ one_time_keys: wanted = {} }: Record<string, object>): object {
    const claimed: Record<string, Record<string, object>> = {};
    for (const [user, ids] of Object.entries(wanted)) {
      for (const id of Object.keys(ids as object)) {
        const keys = devices.get(idOf(user, id))?.oneTimeKeys;
        const [next] = keys ?? [];
        if (next === undefined) continue;
        keys?.delete(next[0]);
        claimed[user] = { ...claimed[user], [id]: Object.fromEntries([next]) };
      }
    }
    return { one_time_keys: claimed, failures: {} };
  }

  return {
    /** Returns the homeserver's API for an account. */
    api(user: string): Api {
      return {
        async postKeys(what, body) {
          const answers: Record<string, (body: never) => object> = { upload, query, claim };
          return answers[what]?.(body as never) ?? {};
        },
        async sendToDevice(type, _txnId, body) {
          const { messages } = body as { messages: Record<string, Record<string, object>> };
          for (const [to, ids] of Object.entries(messages)) {
            for (const [id, content] of Object.entries(ids)) {
              devices.get(idOf(to, id))?.inbox.push({ type, sender: user, content });
            }
          }
          return {};
        },
        members: async () =>
          [...new Set([...devices.values()].map(({ keys }) => keys.user_id))].map((id) => ({
            id,
            membership: "join",
          })),
        state: async (_, type) =>
          (type === "m.room.encryption" ? { algorithm: "m.megolm.v1.aes-sha2" } : {}) as never,
      };
    },
    /** Returns the messages and key counts that the device's next sync contains. */
    sync(user: string, device: string): KeyChanges {
      const found = devices.get(idOf(user, device));
      const toDevice = found?.inbox ?? [];
      if (found !== undefined) found.inbox = [];
      const oneTimeKeys = { signed_curve25519: found?.oneTimeKeys.size ?? 0 };
      return { toDevice, changed: [], left: [], oneTimeKeys, unusedFallbackKeys: ["signed_curve25519"] };
    },
  };
}
