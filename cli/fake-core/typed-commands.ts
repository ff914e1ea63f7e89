import type { Duration } from "../../kit/game/duration";
import type { FakeChat } from "./fake-chat";
import { messageLine } from "./message-lines";
import { Refused } from "./refused";
import { reportLines } from "./report-lines";

export const COMMANDS_HELP = `Members act:
  ada: /play dice       Ada runs a command; "/dice" is the same
  ada: hello            Ada types a message
  ada presses Again     Ada presses the newest button with this label
  ada presses Again on <message id>
                        Ada presses this button of an older message: see "show"
  ada replies 42        Ada replies to the newest message that awaits a reply
  ada dm hello          Ada types in her direct conversation with the game
  in lobby              members act in the channel "lobby" from now on (at first: room)
  workspace <id>        members act in this workspace from now on (at first: the first one)
What the chat shows:
  show                  the messages in their newest versions, with their ids
  report                rules that the game broke, and advice
Faults:
  advance 20 s          moves this program's clock forward: ms, s, m, h or d
  redeliver             delivers the newest event again
  lose                  ends all streams, as a lost connection does
  slow 2                allows at most 2 unacked events on a stream; "slow" alone removes the limit
  down, up              makes publishing fail with UNAVAILABLE; makes it work again
  reset                 forgets messages, events and the report
  help, quit`;

/** A label and the id of a message. */
const ON_MESSAGE = /^(.+) on (msg_\w+)$/u;

/** Carries out commands that are typed, one per line. */
export class TypedCommands {
  readonly #chat: FakeChat;
  readonly #print: (...lines: readonly string[]) => void;
  readonly #quit: () => void;
  #where: { readonly channel?: string; readonly workspace?: string } = {};

  constructor(chat: FakeChat, print: (...lines: readonly string[]) => void, quit: () => void) {
    this.#chat = chat;
    this.#print = print;
    this.#quit = quit;
  }

  /** Throws `Refused`. */
  run(typed: string): void {
    const line = typed.trim();
    if (line === "" || line.startsWith("#")) return;
    const [word = "", rest = ""] = split(line, /\s+/);
    const command = this.#commands[word];
    if (command) return command(rest);
    if (this.#act(line)) return;
    throw new Refused(400, `"${line}" is not a command: type help for the list`);
  }

  #act(line: string): boolean {
    const [, member = "", verb, told = ""] = /^(\S+)\s+(presses|replies|dms?)\s+(.+)$/u.exec(line) ?? [];
    const [, speaker, text = ""] = /^([^\s:]+):\s*(.+)$/u.exec(line) ?? [];
    if (verb === "presses") {
      const [, label = told, messageId] = ON_MESSAGE.exec(told) ?? [];
      this.#chat.presses(member, label, this.#where, messageId);
    } else if (verb === "replies") this.#chat.replies(member, told, this.#where);
    else if (verb !== undefined) this.#chat.dms(member, told, this.#where);
    else if (speaker !== undefined) this.#chat.types(speaker, text, this.#where);
    else return false;
    return true;
  }

  readonly #commands: Readonly<Record<string, (rest: string) => void>> = {
    __proto__: null as never,
    help: () => this.#print(COMMANDS_HELP),
    quit: () => this.#quit(),
    in: (channel) => (this.#where = { ...this.#where, channel: needed(channel, "in lobby") }),
    workspace: (id) => {
      this.#chat.messages({ workspace: needed(id, "workspace <id>") });
      this.#where = { ...this.#where, workspace: id };
    },
    show: () => {
      const shown = this.#chat.messages({ workspace: this.#where.workspace });
      this.#print(
        ...(shown.length === 0
          ? ["The chat shows no messages."]
          : shown.map(({ message }) => `${message.id} ${messageLine(message)}`)),
      );
    },
    report: () => this.#print(...reportLines(this.#chat.core.report())),
    advance: (duration) => {
      this.#chat.advance(needed(duration, "advance 20 s") as Duration);
      this.#print(`The time is ${this.#chat.now.toISOString()}.`);
    },
    redeliver: () => this.#chat.redeliver(),
    lose: () => this.#chat.core.endStreams(),
    slow: (window) => {
      if (window !== "" && !/^[1-9]\d{0,2}$/.test(window))
        throw new Refused(400, "give a number from 1 to 999, e.g. slow 2");
      this.#chat.core.setSlow(window === "" ? undefined : Number(window));
    },
    down: () => this.#chat.core.setUnavailable(true),
    up: () => this.#chat.core.setUnavailable(false),
    reset: () => this.#chat.reset(),
  };
}

function needed(rest: string, example: string): string {
  if (rest !== "") return rest;
  throw new Refused(400, `an argument is missing: type e.g. ${example}`);
}

function split(line: string, at: RegExp): readonly string[] {
  const found = at.exec(line);
  return found === null ? [line] : [line.slice(0, found.index), line.slice(found.index + found[0].length)];
}
