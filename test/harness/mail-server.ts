import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { freePort } from "./processes";
import { until } from "./wait";

export interface ReceivedMail {
  /** Recipients in the SMTP envelope, which the headers need not contain. */
  readonly to: readonly string[];
  readonly raw: string;
}

/**
 * Defines how the server answers messages. `refuse` is an SMTP code. `at` is the rejected step, by default the
 * recipient. `to` selects the recipients to reject, by default all.
 */
export type MailBehaviour =
  | "accept"
  | { readonly refuse: number; readonly at?: "sender" | "recipient" | "message"; readonly to?: RegExp };

export type TestMailServer = Awaited<ReturnType<typeof startMailServer>>;

interface MailServerOptions {
  /** The login that is required before a message is accepted. */
  readonly login?: { readonly user: string; readonly password: string };
}

/** Starts an SMTP server that accepts all messages until `behave` is called. */
export async function startMailServer({ login }: MailServerOptions = {}) {
  const messages: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let behaviour: MailBehaviour = "accept";
  let running: SMTPServer | undefined;
  // The server can restart on the same port, because no other process gets a port from `freePort` in the meantime.
  const port = await freePort();

  const refusalAt = (where: "sender" | "recipient" | "message", to = ""): Error | undefined => {
    if (typeof behaviour === "string" || (behaviour.at ?? "recipient") !== where) return undefined;
    if (behaviour.to?.test(to) === false) return undefined;
    return Object.assign(new Error("not now"), { responseCode: behaviour.refuse });
  };

  async function start(): Promise<void> {
    if (running !== undefined) return;
    const server = new SMTPServer({
      disabledCommands: ["STARTTLS", ...(login === undefined ? ["AUTH"] : [])],
      allowInsecureAuth: true,
      disableReverseLookup: true,
      onAuth({ username, password }, _session, done) {
        const isRight = username === login?.user && password === login?.password;
        done(isRight ? null : new Error("wrong login"), isRight ? { user: username } : undefined);
      },
      onMailFrom(_address, _session, done) {
        done(refusalAt("sender"));
      },
      onRcptTo({ address }, _session, done) {
        done(refusalAt("recipient", address));
      },
      onData(stream, { envelope: { rcptTo } }, done) {
        const take = (raw: string): void => {
          const refusal = refusalAt("message");
          if (refusal === undefined) messages.push({ to: rcptTo.map(({ address }) => address), raw });
          done(refusal);
        };
        // In some tests, the client disconnects during a message.
        text(stream).then(take, () => undefined);
      },
    });
    server.on("error", () => {});
    server.server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    running = server;
  }

  async function stop(): Promise<void> {
    const server = running;
    running = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await start();
  return {
    port,
    /** URL of the server, `smtp://127.0.0.1:<port>`, without the login. */
    url: `smtp://127.0.0.1:${port}`,
    messages: messages as readonly ReceivedMail[],
    behave: (how: MailBehaviour) => void (behaviour = how),
    /** Waits until `count` messages have been accepted. */
    waitFor: (count: number, withinMs?: number) =>
      until(`${count} emails`, () => messages.length >= count, withinMs),
    /** Stops the server immediately. `start` restarts the server on the same port. */
    stop,
    start,
    close: stop,
  };
}
