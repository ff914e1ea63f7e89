import { openBridgeStage } from "../../../common/test/bridge-stage";
import { joinXmpp, type XmppMember } from "./xmpp-member";
import { DOMAIN, PASSWORD, ROOMS, type XmppServer } from "./xmpp-server";

const PACE = { QUESTION_SECONDS: "60", REVEAL_SECONDS: "3", LOBBY_SECONDS: "120" };
export const ROOM = `games@${ROOMS}`;

/** Returns the bridge's settings for the chat. */
export function chatSettings({ port, caPath }: XmppServer): Readonly<Record<string, string>> {
  return {
    XMPP_JID: `games@${DOMAIN}`,
    XMPP_PASSWORD: PASSWORD,
    XMPP_SERVER: `127.0.0.1:${port}`,
    XMPP_CA: caPath,
    XMPP_ROOMS: ROOM,
  };
}

/**
 * Starts the service, the trivia game, three members in the room `ROOM`, and a bridge between a workspace and the room.
 * The service, the game, the bridge and the server can each be killed and restarted.
 */
export async function openStage(
  server: XmppServer,
  folder: string,
  more: Readonly<Record<string, string>> = {},
) {
  const members = await openRoom(server, ["ann", "bob", "cid"]);
  const stage = await openBridgeStage({
    chat: "xmpp",
    folder,
    pace: PACE,
    chatSettings: { ...chatSettings(server), ...more },
  });

  return {
    ...stage,
    members: members as readonly [XmppMember, XmppMember, XmppMember],
    get bridge() {
      return stage.bridge;
    },
    async close(): Promise<void> {
      for (const member of members) member.leave();
      await stage.closeStage();
      await server.stop("SIGKILL");
    },
  };
}

/**
 * Connects members, the first of whom creates the room. Each nick is the account's name with a capital first letter.
 */
export async function openRoom(
  server: XmppServer,
  accounts: readonly string[],
  room = ROOM,
  values: Readonly<Record<string, unknown>> = {},
): Promise<readonly XmppMember[]> {
  const nickOf = (account: string): string => account.charAt(0).toUpperCase() + account.slice(1);
  const members = await Promise.all(
    accounts.map((account) => joinXmpp(server, account, nickOf(account), room)),
  );
  const [owner, ...others] = members;
  await owner?.join();
  await owner?.configure(values);
  await Promise.all(others.map((member) => member.join()));
  return members;
}
