/** Types for the parts of irc-framework that this bridge uses, because the package contains no types. */
declare module "irc-framework" {
  import type { EventEmitter } from "node:events";

  interface IrcTags {
    readonly [name: string]: string | undefined;
  }

  interface TextEvent {
    readonly from_server: boolean;
    readonly nick: string;
    readonly target: string;
    readonly message: string;
    readonly tags: IrcTags;
    /** Time at which the text was sent, ms since the epoch, if the server gives the time. */
    readonly time?: number;
    readonly account?: string;
  }

  interface Mode {
    /** The sign and the letter of the mode, e.g. "+m". */
    readonly mode: string;
    readonly param?: string;
  }

  interface ClientEvents {
    registered: [event: { readonly nick: string }];
    /** The connection is closed, or could not be opened. */
    "socket close": [error?: Error | false];
    privmsg: [event: TextEvent];
    notice: [event: TextEvent];
    join: [
      event: {
        readonly nick: string;
        readonly ident?: string;
        readonly hostname?: string;
        readonly channel: string;
        readonly account?: string | false;
      },
    ];
    /** The server has changed the host name that members see. */
    "displayed host": [event: { readonly nick: string; readonly hostname: string }];
    part: [event: { readonly nick: string; readonly channel: string }];
    kick: [event: { readonly kicked: string; readonly nick: string; readonly channel: string }];
    quit: [event: { readonly nick: string; readonly ident?: string; readonly hostname?: string }];
    nick: [event: { readonly nick: string; readonly new_nick: string }];
    account: [event: { readonly nick: string; readonly account: string | false }];
    invite: [event: { readonly nick: string; readonly invited: string; readonly channel: string }];
    mode: [event: { readonly target: string; readonly modes?: readonly Mode[] }];
    /** The modes of a channel, which the server lists on request. */
    "channel info": [event: { readonly channel: string; readonly modes?: readonly Mode[] }];
    pong: [event: { readonly message?: string }];
    userlist: [event: { readonly channel: string; readonly users: readonly { readonly nick: string }[] }];
    whois: [event: { readonly nick: string; readonly account?: string; readonly error?: string }];
    "nick in use": [event: { readonly nick: string }];
    "nick invalid": [event: { readonly nick: string; readonly reason?: string }];
    "sasl failed": [event: { readonly reason: string }];
    "irc error": [
      event: {
        readonly error: string;
        readonly reason?: string;
        readonly channel?: string;
        readonly nick?: string;
      },
    ];
  }

  interface ClientOptions {
    host: string;
    port: number;
    nick: string;
    username: string;
    gecos: string;
    password?: string;
    account?: { account?: string; password?: string };
    sasl_mechanism?: "PLAIN" | "EXTERNAL";
    sasl_disconnect_on_fail?: boolean;
    enable_echomessage?: boolean;
    auto_reconnect?: boolean;
    ping_interval?: number;
    ping_timeout?: number;
    version?: string;
    transport?: new () => Transport;
  }

  interface ServerLine {
    readonly command: string;
    readonly params: readonly string[];
  }

  /**
   * A connection to a server. Emits `open` when lines can be written, `line` with each line, and `close` with the
   * error, if any.
   */
  interface Transport extends EventEmitter {
    connect(): void;
    writeLine(line: string, done?: () => void): void;
    close(isForced: boolean): void;
    disposeSocket(): void;
    setEncoding(encoding: string): boolean;
  }

  class Client {
    constructor();
    connect(options: ClientOptions): void;
    raw(line: string): void;
    quit(reason: string): void;
    caseLower(text: string): string;
    on<Name extends keyof ClientEvents>(name: Name, listener: (...args: ClientEvents[Name]) => void): this;
    removeAllListeners(): this;
    readonly connected: boolean;
    readonly user: { readonly nick: string };
    readonly network: {
      readonly name: string;
      supports(token: string): unknown;
      isChannelName(name: string): boolean;
      readonly cap: { isEnabled(name: string): boolean };
    };
    readonly connection: {
      /** Calls the listener with each line of the server. */
      on(name: "message", listener: (line: ServerLine) => void): void;
      end(data?: string | null, hadError?: boolean): void;
    };
  }
}
