import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createInterface } from "node:readline";

const CAPS = "sasl=PLAIN account-tag account-notify extended-join echo-message message-tags";

/**
 * Starts a small IRC server with accounts. The real IRC servers of Debian support accounts only if a separate services
 * program runs. The server accepts a login with SASL PLAIN if the credentials are `login`, and serves one client: the
 * bridge.
 */
export async function startFakeServer(login: { readonly account: string; readonly password: string }) {
  const received: string[] = [];
  let client: Socket | undefined;
  let connections = 0;
  const say = (line: string): void => void client?.write(`${line}\r\n`);
  const expected = Buffer.from(`${login.account}\0${login.account}\0${login.password}`).toString("base64");

  function answer(line: string): void {
    received.push(line);
    const [command = "", first = "", second = ""] = line.split(" ");
    if (line === "CAP LS 302") say(`:irc.test CAP * LS :${CAPS}`);
    else if (command === "CAP" && first === "REQ")
      say(`:irc.test CAP * ACK ${line.slice("CAP REQ ".length)}`);
    else if (line === "AUTHENTICATE PLAIN") say("AUTHENTICATE +");
    else if (command === "AUTHENTICATE") say(`:irc.test ${first === expected ? 903 : 904} games :SASL`);
    else if (line === "CAP END") {
      say(":irc.test 001 games :Welcome");
      say(":irc.test 005 games CASEMAPPING=ascii CHANTYPES=# NETWORK=Fake :are supported");
      say(":irc.test 376 games :End of MOTD");
    } else if (command === "JOIN") say(`:games!games@host JOIN ${first} ${login.account} :games`);
    else if (command === "PING") say(`:irc.test PONG irc.test :${first}`);
    else if (command === "PRIVMSG" || command === "NOTICE") say(`:games!games@host ${line}`);
    else if (command === "QUIT") client?.end(`ERROR :bye ${second}\r\n`);
  }

  const server = createServer((socket) => {
    client = socket;
    connections += 1;
    socket.on("error", () => undefined);
    // The line reader emits the errors of the socket too.
    createInterface({ input: socket })
      .on("line", answer)
      .on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    /** The lines from the bridge. */
    received: received as readonly string[],
    /** The number of connections so far. */
    connections: (): number => connections,
    /** Sends a line to the bridge. */
    say,
    /** Sends a last line, and closes the connection. Uses `end`, because `destroy` could discard the line. */
    hangUp: (line: string): void => void client?.end(`${line}\r\n`),
    close(): void {
      client?.destroy();
      server.close();
    },
  };
}
