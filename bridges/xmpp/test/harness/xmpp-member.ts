import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { installSlixmpp } from "../../../../test/programs/pypi";
import { until } from "../../../../test/harness/wait";
import { DOMAIN, PASSWORD, type XmppServer } from "./xmpp-server";

/** A message that a member saw. */
export interface SeenMessage {
  readonly type: "groupchat" | "chat" | "error" | "normal";
  /** Bare JID of the room or of the account. */
  readonly sender: string;
  /** The author's nick if the message is from a room, or else the author's resource. */
  readonly nick: string;
  readonly id: string;
  readonly body: string;
  /** The id of the message that this message corrects. */
  readonly replaces: string | null;
  /** Whether the room repeated the message to a member who joined. */
  readonly isOld: boolean;
  readonly error: string | null;
}

export type XmppMember = Awaited<ReturnType<typeof joinXmpp>>;

/** Connects a member with slixmpp. The member connects again after a restart of the server, and joins its rooms again. */
export async function joinXmpp(
  { port }: Pick<XmppServer, "port">,
  account: string,
  nick: string,
  room: string,
  password = PASSWORD,
) {
  const python = await installSlixmpp();
  const args = [join(__dirname, "member.py"), `${account}@${DOMAIN}`, password, String(port)];
  const child = spawn(python, args, { stdio: ["pipe", "pipe", "pipe"] });
  const messages: SeenMessage[] = [];
  const seen = new Set<SeenMessage>();
  const joined = new Set<string>();
  const tokens = new Set<string>();
  const failures: string[] = [];
  let errors = "";
  let isOnline = false;
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-5_000)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const told = JSON.parse(line) as { event: string; room: string; token: string; reason: string };
    if (told.event === "message") messages.push(told as never);
    else if (told.event === "joined") joined.add(told.room);
    else if (told.event === "answered") tokens.add(told.token);
    else if (told.event === "configured") tokens.add(`configured ${told.room}`);
    else if (told.event === "failed") failures.push(told.reason);
    else isOnline = told.event === "online";
    if (told.event === "offline") joined.clear();
  });
  const obey = (command: object): void => void child.stdin.write(`${JSON.stringify(command)}\n`);
  const wait = (what: string, check: () => unknown) =>
    until(`${nick} ${what}: ${errors}`, () => {
      if (failures.length > 0) throw new Error(failures.join("\n"));
      return check();
    });
  await wait("is online", () => isOnline);

  const member = {
    jid: `${account}@${DOMAIN}`,
    /** All messages that the member saw, in order. */
    messages: messages as readonly SeenMessage[],
    /** Joins a room. `history` is the number of earlier messages to repeat. */
    async join(where = room, history = 0): Promise<void> {
      await wait("is online", () => isOnline);
      obey({ do: "join", room: where, nick, password: "", history: String(history) });
      await wait(`is in ${where}`, () => joined.has(where));
    },
    /** Sets values of a room's configuration. This also unlocks a new room. */
    async configure(values: Readonly<Record<string, unknown>> = {}, where = room): Promise<void> {
      tokens.delete(`configured ${where}`);
      obey({ do: "configure", room: where, values });
      await wait(`has configured ${where}`, () => tokens.has(`configured ${where}`));
    },
    say: (text: string, where = room): void => obey({ do: "say", room: where, text }),
    whisper: (to: string, text: string): void => obey({ do: "whisper", to, text }),
    raw: (xml: string): void => obey({ do: "raw", xml }),
    /** Waits for a message that contains `words`, and that no earlier call has returned. */
    async sees(words: string | RegExp, type?: SeenMessage["type"]): Promise<SeenMessage> {
      const isIt = (each: SeenMessage): boolean =>
        (type === undefined || each.type === type) &&
        (typeof words === "string" ? each.body.includes(words) : words.test(each.body));
      try {
        return (await wait(`sees ${String(words)}`, () => {
          const found = messages.find((each) => !seen.has(each) && isIt(each));
          if (found !== undefined) seen.add(found);
          return found;
        })) as SeenMessage;
      } catch (error) {
        throw new Error(JSON.stringify(messages.slice(-30), undefined, 1), { cause: error });
      }
    },
    /** Resolves when the server has processed everything that the member sent before. */
    async roundTrip(): Promise<void> {
      const token = `t${Math.random()}`;
      obey({ do: "ask", token });
      await wait("gets an answer", () => tokens.has(token));
    },
    leave: (): void => void child.kill("SIGKILL"),
  };
  return member;
}

/** Returns the texts that a room shows to a member, after all corrections. */
export function shownIn(messages: readonly SeenMessage[], room: string, nick: string): readonly string[] {
  const texts = new Map<string, string>();
  for (const { type, sender, nick: author, id, body, replaces, isOld } of messages) {
    if (type !== "groupchat" || sender !== room || author !== nick || body === "" || isOld) continue;
    texts.set(replaces ?? id, body);
  }
  return [...texts.values()];
}
