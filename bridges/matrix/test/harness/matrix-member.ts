import { randomUUID } from "node:crypto";
import { until } from "../../../../test/harness/wait";
import { foldRoom, type RawEvent, type RoomMessage } from "./fold-room";

export type MatrixMember = ReturnType<typeof createMember>;

/** Returns a homeserver member that uses the client-server API as a chat client would. */
export function createMember(account: { readonly url: string; readonly token: string; readonly id: string }) {
  const { url, token, id } = account;

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${url}/_matrix/client/v3/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as T & { errcode?: string };
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status} ${json.errcode}`);
    return json;
  }

  const inRoom = (roomId: string, rest: string) => `rooms/${encodeURIComponent(roomId)}/${rest}`;

  async function send(roomId: string, type: string, content: object): Promise<string> {
    const path = inRoom(roomId, `send/${type}/${randomUUID()}`);
    return (await call<{ event_id: string }>("PUT", path, content)).event_id;
  }

  /** Resolves to all events of a room that the member can see, oldest first. */
  async function events(roomId: string): Promise<readonly RawEvent[]> {
    const all: RawEvent[] = [];
    for (let from: string | undefined = ""; from !== undefined;) {
      const path: string = inRoom(roomId, `messages?dir=f&limit=500${from === "" ? "" : `&from=${from}`}`);
      const page: { chunk: RawEvent[]; end?: string } = await call("GET", path);
      all.push(...page.chunk);
      from = page.end;
    }
    return all;
  }

  /** Resolves to the messages of a room as clients show them: edits are applied. */
  const messages = async (roomId: string): Promise<readonly RoomMessage[]> => foldRoom(await events(roomId));

  let since = "";
  /** Resolves to the rooms to which the member was invited since the last call. */
  async function newInvites(): Promise<readonly string[]> {
    const sync: { next_batch: string; rooms?: { invite?: object } } = await call(
      "GET",
      `sync${since === "" ? "" : `?since=${since}`}`,
    );
    since = sync.next_batch;
    return Object.keys(sync.rooms?.invite ?? {});
  }

  return {
    id,
    token,
    url,
    call,
    events,
    newInvites,
    messages,
    send,

    /** Creates a room and invites members. */
    async createRoom(
      options: Readonly<Record<string, unknown>> = {},
      ...invited: readonly string[]
    ): Promise<string> {
      const body = { preset: "private_chat", invite: invited, ...options };
      return (await call<{ room_id: string }>("POST", "createRoom", body)).room_id;
    },
    join: (roomId: string) => call("POST", `join/${encodeURIComponent(roomId)}`, {}),
    leave: (roomId: string) => call("POST", inRoom(roomId, "leave"), {}),
    invite: (roomId: string, user: string) => call("POST", inRoom(roomId, "invite"), { user_id: user }),
    setState: (roomId: string, type: string, content: object) =>
      call("PUT", inRoom(roomId, `state/${type}/`), content),
    /** Gives another account a moderator's power level, so that it can e.g. redact messages. */
    async promote(roomId: string, user: string): Promise<void> {
      const powers = await call<{ users?: object }>("GET", inRoom(roomId, "state/m.room.power_levels/"));
      const users = { ...powers.users, [user]: 50 };
      await call("PUT", inRoom(roomId, "state/m.room.power_levels/"), { ...powers, users });
    },
    membershipOf: (roomId: string, user: string) =>
      call<{ membership: string }>(
        "GET",
        inRoom(roomId, `state/m.room.member/${encodeURIComponent(user)}`),
      ).then(
        ({ membership }) => membership,
        () => undefined,
      ),

    say: (roomId: string, body: string) => send(roomId, "m.room.message", { msgtype: "m.text", body }),
    reply: (roomId: string, eventId: string, body: string) =>
      send(roomId, "m.room.message", {
        msgtype: "m.text",
        body: `> <@somebody:chat.test> a quote\n\n${body}`,
        "m.relates_to": { "m.in_reply_to": { event_id: eventId } },
      }),
    react: (roomId: string, eventId: string, key: string) =>
      send(roomId, "m.reaction", { "m.relates_to": { rel_type: "m.annotation", event_id: eventId, key } }),
    redact: (roomId: string, eventId: string) =>
      call("PUT", inRoom(roomId, `redact/${encodeURIComponent(eventId)}/${randomUUID()}`), {}),

    /** Waits for a message of a room. */
    sees: (roomId: string, what: string, isIt: (message: RoomMessage) => boolean): Promise<RoomMessage> =>
      until(what, async () => (await messages(roomId).catch(() => [])).findLast(isIt)),

    /**
     * Waits until another account invites the member to a direct room, and accepts the invite. Resolves to the room.
     */
    directRoomWith: (user: string): Promise<string> =>
      until(`an invite by ${user}`, async () => {
        const [roomId] = await newInvites();
        if (roomId !== undefined) await call("POST", `join/${encodeURIComponent(roomId)}`, {});
        return roomId;
      }),
  };
}
