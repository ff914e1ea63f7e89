import { Client, type ServerLine } from "irc-framework";
import { clientOptions } from "../client-options";
import type { IrcSettings } from "../irc-settings";
import type { WantedChannel } from "./channel-list";
import { JOIN_REJECTIONS } from "./channels";

const ANSWER_WITHIN_MS = 20_000;
const QUIT_WITHIN_MS = 3_000;
const MOTD_ENDS = new Set(["376", "422"]);
/** Numeric replies that reject a nick. */
export const NICK_REJECTED = { inUse: "433", invalid: "432", collision: "436", unavailable: "437" } as const;
const NICK_REJECTIONS = new Set<string>(Object.values(NICK_REJECTED));
/** Numeric replies that contain a part of the list of members, the end of this list, and the modes of a channel. */
const [NAMES, NAMES_END, MODES] = ["353", "366", "324"];
/** Prefixes of members who may speak in a moderated channel. */
const MAY_SPEAK = /^[~&@%+]/;

/** The rejection of a nick: the numeric reply, and the server's explanation. */
export interface NickRejection {
  readonly command: string;
  readonly reason: string;
}

/** A single connection that finds out what the bridge may do on a server. */
export class ServerProbe {
  readonly #settings: IrcSettings;
  readonly #client = new Client();
  /** Reason that the server gave before it closed the connection. */
  #reason: string | undefined;
  /** Receives the next lines of the server. */
  #reader: { take(line: ServerLine): void; fail(error: Error): void } | undefined;

  constructor(settings: IrcSettings) {
    this.#settings = settings;
  }

  /**
   * Connects, and resolves when the server has accepted the bridge. Resolves to the rejection of the nick if the bridge
   * had to use another nick. Rejects with the reason if the server does not accept the bridge.
   */
  async connect(): Promise<NickRejection | undefined> {
    const { IRC_NICK: nick } = this.#settings;
    const client = this.#client;
    client.connection.on("message", (line) => {
      if (line.command === "ERROR") this.#reason ??= line.params.at(-1);
      this.#reader?.take(line);
    });
    client
      .on("sasl failed", ({ reason }) => (this.#reason = `the login with SASL failed (${reason})`))
      .on("irc error", ({ error, reason }) => {
        if (error === "banned_from_network") this.#reason ??= reason;
        if (error === "password_mismatch") this.#reason = "the server rejects IRC_PASSWORD";
      })
      .on("socket close", (error) => {
        const problem = error instanceof Error ? error.message : "the server closed the connection";
        this.#reader?.fail(new Error(this.#reason ?? problem));
      });
    let rejection: NickRejection | undefined;
    const ready = this.#read((line) => {
      if (NICK_REJECTIONS.has(line.command) && rejection === undefined) {
        rejection = { command: line.command, reason: line.params.at(-1) ?? "" };
        // Servers limit nicks to nine characters or more.
        client.raw(`NICK ${nick.slice(0, 4)}_${Math.floor(Math.random() * 1000)}`);
      }
      return MOTD_ENDS.has(line.command) ? true : undefined;
    });
    client.connect({ ...clientOptions(this.#settings, () => undefined) });
    await ready;
    return rejection;
  }

  /**
   * Joins a channel. Resolves to the rejection, or to whether the bridge may speak in the channel even if it is
   * moderated.
   */
  join({
    name,
    key,
  }: WantedChannel): Promise<{ rejectedBy: string; reason: string } | { mayAlwaysSpeak: boolean }> {
    let mayAlwaysSpeak = false;
    const { nick } = this.#client.user;
    const joined = this.#read(({ command, params }) => {
      if (command === NAMES && this.#is(params[2], name)) {
        const own = (params[3] ?? "").split(" ").find((member) => this.#is(withoutPrefix(member), nick));
        if (own !== undefined) mayAlwaysSpeak = MAY_SPEAK.test(own);
      }
      if (!this.#is(params[1], name)) return undefined;
      if (JOIN_REJECTIONS.has(command)) return { rejectedBy: command, reason: params.at(-1) ?? command };
      return command === NAMES_END ? { mayAlwaysSpeak } : undefined;
    });
    this.#client.raw(`JOIN ${name}${key === undefined ? "" : ` ${key}`}`);
    return joined;
  }

  /** Resolves to the letters of a channel's modes, e.g. "+nt". */
  modesOf(channel: string): Promise<string> {
    const modes = this.#read(({ command, params }) =>
      command === MODES && this.#is(params[1], channel) ? (params[2] ?? "") : undefined,
    );
    this.#client.raw(`MODE ${channel}`);
    return modes;
  }

  /** Sends `QUIT`, and resolves when the server has closed the connection, because only then is the nick free again. */
  async close(): Promise<void> {
    const client = this.#client;
    if (!client.connected) return client.connection.end(null, true);
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => client.connection.end(null, true), QUIT_WITHIN_MS);
      client.on("socket close", () => {
        clearTimeout(late);
        resolve();
      });
      client.quit("set up");
    });
  }

  #is(one: string | undefined, other: string): boolean {
    return one !== undefined && this.#client.caseLower(one) === this.#client.caseLower(other);
  }

  /** Resolves to the first value that `read` returns for a line. Rejects if the connection closes, or after 20 s. */
  async #read<T>(read: (line: ServerLine) => T | undefined): Promise<T> {
    let late: NodeJS.Timeout | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        const take = (line: ServerLine): void => {
          const value = read(line);
          if (value !== undefined) resolve(value);
        };
        this.#reader = { take, fail: reject };
        late = setTimeout(() => reject(new Error("no answer within 20 s")), ANSWER_WITHIN_MS);
      });
    } finally {
      clearTimeout(late);
      this.#reader = undefined;
    }
  }
}

const withoutPrefix = (member: string): string => member.replace(/^[~&@%+]+/, "");
