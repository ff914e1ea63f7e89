import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { freePort } from "./processes";
import { until } from "./wait";

export interface ReceivedMail {
  /** Of the envelope, not of the headers. */
  readonly to: readonly string[];
  readonly raw: string;
}

/** What is done with messages: a refusal names the SMTP code, and its recipients where it is not for all. */
export type MailBehaviour =
  | "accept"
  | { readonly refuse: number; readonly at?: "sender" | "recipient" | "message"; readonly to?: RegExp };

export type TestMailServer = Awaited<ReturnType<typeof startMailServer>>;

interface MailServerOptions {
  /** Demanded before a message is taken. */
  readonly login?: { readonly user: string; readonly password: string };
}

/** Starts an SMTP server that accepts all until it is told otherwise. */
export async function startMailServer({ login }: MailServerOptions = {}) {
  const messages: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let behaviour: MailBehaviour = "accept";
  let running: SMTPServer | undefined;
  // It comes back at the same port, which nobody else may have got meanwhile.
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
        // Clients that leave in the middle are what tests are about.
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
    /** smtp://127.0.0.1:port, without a login. */
    url: `smtp://127.0.0.1:${port}`,
    messages: messages as readonly ReceivedMail[],
    behave: (how: MailBehaviour) => void (behaviour = how),
    /** Waits until so many messages were taken. */
    waitFor: (count: number, withinMs?: number) =>
      until(`${count} messages by mail`, () => messages.length >= count, withinMs),
    /** Goes down at once; `start` brings it back at the same port. */
    stop,
    start,
    close: stop,
  };
}
