import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { testFolder } from "../../../../test/harness/folder";
import { openChat } from "../../../../test/harness/game-chat";
import { startService, type TestService } from "../../../../test/harness/service";
import { buildPlayedGame, startPlayedGame, type PlayedGame } from "../harness/played-games";
import { newGroup } from "./follow-with-link";

const root = testFolder();
let program: string;
let service: TestService;
beforeAll(async () => {
  program = buildPlayedGame(root);
  service = await startService();
});
afterAll(() => service.close());

/**
 * Forwards connections to core, until `cut` ends them. Core also closes the connection of a process that answers no
 * ping.
 */
async function openProxy(port: number) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const core = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [client, core],
      [core, client],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}

function newFolder(): string {
  const path = join(root, newGroup());
  mkdirSync(path, { recursive: true });
  return path;
}

test.each(["the suspended process", "the other process"] as const)(
  "after a suspension, nothing is lost, doubled or stale, if %s finishes the event first",
  async (finisher) => {
    const group = newGroup();
    const folder = newFolder();
    const [releasedOne, releasedTwo] = [newFolder(), newFolder()];
    const proxy = await openProxy(service.core.port);
    const start = (consumer: string, port: number, released: string): Promise<PlayedGame> =>
      startPlayedGame(program, { port, group, consumer, folder, released });
    const one = await start("one", proxy.port, releasedOne);
    const slowChat = openChat(service.url, await service.workspaces.make());
    const ringChat = openChat(service.url, await service.workspaces.make());
    const shows = async (chat: typeof slowChat, ...texts: readonly string[]): Promise<void> => {
      for (const text of texts) expect((await chat.sees("message.create", "card")).message.text).toBe(text);
    };

    await slowChat.command("ann", "note a");
    await shows(slowChat, "a 1");
    await slowChat.command("ann", "slow b");
    await slowChat.command("ann", "note c");
    await one.prints("handling b");
    await ringChat.command("ann", "later d");
    await shows(ringChat, "d 1");

    one.signal("SIGSTOP");
    const two = await start("two", service.core.port, releasedTwo);
    proxy.cut();
    await two.prints("handling b");
    // When the suspended process continues, its timer is also due.
    await shows(ringChat, "ring d");
    writeFileSync(join(releasedOne, "b"), "");
    if (finisher === "the other process") {
      writeFileSync(join(releasedTwo, "b"), "");
      await shows(slowChat, "b 2", "b again 2", "c 3");
      one.signal("SIGCONT");
    } else {
      one.signal("SIGCONT");
      await one.prints("stale 1");
      writeFileSync(join(releasedTwo, "b"), "");
      await shows(slowChat, "b 2", "b again 2", "c 3");
    }

    await slowChat.command("ann", "note e");
    await shows(slowChat, "e 4");
    await ringChat.command("ann", "later f");
    await shows(ringChat, "f 2", "ring f");
    expect(await Promise.all([one.stop(), two.stop()])).toEqual([0, 0]);
    // The next process has nothing left to do.
    const three = await start("three", service.core.port, releasedTwo);
    await slowChat.command("ann", "note g");
    await ringChat.command("ann", "note h");
    await shows(slowChat, "g 5");
    await shows(ringChat, "h 3");
    expect(await three.stop()).toBe(0);
    proxy.close();
  },
);
