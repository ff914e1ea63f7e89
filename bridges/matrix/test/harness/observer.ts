import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ShownMessage } from "chat-bridge-kit/check-bridge";
import type { RoomMessage } from "./fold-room";
import type { MatrixMember } from "./matrix-member";

/**
 * Serves to `chat-bridge-check --observe` the messages that a member sees: the bridge's messages in a room, and in all
 * rooms to which the bridge invites the member.
 */
export async function startObserver(member: MatrixMember, bridge: string, room: string) {
  const direct = new Set<string>();

  async function list(): Promise<readonly ShownMessage[]> {
    for (const invited of await member.newInvites()) {
      await member.join(invited);
      direct.add(invited);
    }
    const all = await Promise.all(
      [room, ...direct].map(async (roomId) => {
        const channel = roomId === room ? room : `dm:${member.id}`;
        const texts = (await member.messages(roomId)).filter((message) => {
          return message.sender === bridge && !isRemark(message);
        });
        return texts.map((message) => ({ channel, text: message.body, buttons: labelsIn(message) }));
      }),
    );
    return all.flat();
  }

  const server = createServer((_request, response) => {
    list().then(
      (messages) => response.end(JSON.stringify({ messages })),
      () => response.writeHead(500).end(),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/observe`),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Returns whether a notice comes from the bridge itself, and is not an ephemeral message of a game. */
function isRemark({ msgtype, body }: RoomMessage): boolean {
  return msgtype === "m.notice" && body.startsWith("I may not remove reactions");
}

/** Returns the labels of the choices and links below a text. */
function labelsIn({ body }: RoomMessage): readonly string[] {
  const lines = body.split("\n").flatMap((line) => {
    const [, choice, link] = /^(?:[1-9]\u{FE0F}\u{20E3} (.*)|🔗 (.*?) \(\S+\))$/u.exec(line) ?? [];
    return choice ?? link ?? [];
  });
  return lines;
}
