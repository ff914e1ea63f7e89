import { readFileSync } from "node:fs";
import { Client } from "irc-framework";
import { until } from "../../../../test/harness/wait";
import { socketTransport } from "../../connection/socket-transport";
import { plainText } from "../../text/plain-text";
import type { IrcServer } from "./irc-server";

/** A line that a member saw, without formatting codes. */
export interface SeenLine {
  readonly from: string;
  readonly target: string;
  readonly text: string;
  readonly isNotice: boolean;
}

export type IrcMember = Awaited<ReturnType<typeof joinIrc>>;

/** Joins a channel of a server as a member with a real client. The member connects again after a restart of the server. */
export async function joinIrc(
  { host, port, caPath }: Pick<IrcServer, "host" | "port" | "caPath">,
  nick: string,
  channel: string,
) {
  const lines: SeenLine[] = [];
  const seen = new Set<SeenLine>();
  const pongs = new Set<string>();
  let isIn = false;
  let isOver = false;
  const tls = caPath === undefined ? undefined : { ca: readFileSync(caPath) };
  const client = new Client();
  const connect = (): void =>
    client.connect({
      host,
      port,
      nick,
      username: "member",
      gecos: nick,
      account: {},
      auto_reconnect: false,
      transport: socketTransport({ host, port, tls, onSkipped: () => undefined }),
    });
  client
    .on("registered", () => client.raw(`JOIN ${channel}`))
    .on("join", (event) => (isIn ||= event.nick === client.user.nick))
    .on("privmsg", ({ nick: from, target, message: text }) =>
      lines.push({ from, target, text: plainText(text), isNotice: false }),
    )
    .on("notice", (event) => {
      if (!event.from_server)
        lines.push({
          from: event.nick,
          target: event.target,
          text: plainText(event.message),
          isNotice: true,
        });
    })
    .on("pong", ({ message }) => pongs.add(String(message)))
    .on("socket close", () => {
      isIn = false;
      if (!isOver) setTimeout(connect, 200);
    });
  connect();
  const inChannel = (): Promise<unknown> => until(`${nick} is in ${channel}`, () => isIn);
  await inChannel();

  return {
    client,
    /** All lines that the member saw, in order. */
    lines: lines as readonly SeenLine[],
    inChannel,
    say: (text: string, target = channel): void => client.raw(`PRIVMSG ${target} :${text}`),
    /** Waits for a line that contains `words`, and that no earlier call has returned. */
    async sees(words: string | RegExp): Promise<SeenLine> {
      const isIt = ({ text }: SeenLine): boolean =>
        typeof words === "string" ? text.includes(words) : words.test(text);
      try {
        return await until(`${nick} sees ${String(words)}`, () => {
          const found = lines.find((line) => !seen.has(line) && isIt(line));
          if (found !== undefined) seen.add(found);
          return found;
        });
      } catch (error) {
        throw new Error(lines.map(({ text }) => text).join("\n"), { cause: error });
      }
    },
    /** Resolves when the server has processed everything that the member sent before. */
    async roundTrip(): Promise<void> {
      const token = `t${Math.random()}`;
      client.raw(`PING ${token}`);
      await until("the server answers a PING", () => pongs.has(token));
    },
    leave(): void {
      isOver = true;
      client.quit("bye");
    },
  };
}
