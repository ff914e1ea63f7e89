import { EventEmitter } from "node:events";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { connect as connectTls } from "node:tls";
import type { Transport } from "irc-framework";

/** Address and TLS options of the server. */
export interface SocketOptions {
  readonly host: string;
  readonly port: number;
  /** TLS options; undefined for a connection without encryption. */
  readonly tls:
    | { readonly ca?: Buffer | undefined; readonly cert?: Buffer; readonly key?: Buffer }
    | undefined;
  /** Called with the error when a line of the server cannot be read. irc-framework throws if parameters are missing. */
  onSkipped(error: unknown): void;
}

const CONNECT_WITHIN_MS = 20_000;
/** Maximum characters of a line. The protocol allows 8,191 bytes of tags and 512 bytes of text. */
const LINE_MAX = 16_384;

/**
 * Returns the transport class for irc-framework. Unlike the transport of that package, this class supports a CA file,
 * and limits the length of lines. Certificates are always verified.
 */
export function socketTransport({ host, port, tls, onSkipped }: SocketOptions): new () => Transport {
  return class extends EventEmitter implements Transport {
    private socket: Socket | undefined;

    connect(): void {
      const servername = isIP(host) === 0 ? { servername: host } : {};
      const socket =
        tls === undefined
          ? connectPlain({ host, port })
          : connectTls({ host, port, ...servername, ...tls, rejectUnauthorized: true });
      this.socket = socket;
      let error: Error | false = false;
      const late = setTimeout(
        () => socket.destroy(new Error(`no answer within ${CONNECT_WITHIN_MS / 1000} s`)),
        CONNECT_WITHIN_MS,
      );
      socket.once(tls === undefined ? "connect" : "secureConnect", () => {
        clearTimeout(late);
        socket.setNoDelay(true);
        this.emit("open");
      });
      const read = createLineReader((line) => {
        try {
          this.emit("line", line);
        } catch (skipped) {
          onSkipped(skipped);
        }
      });
      socket.on("data", read);
      socket.on("error", (reason) => (error = reason));
      socket.once("close", () => {
        clearTimeout(late);
        this.emit("close", error);
      });
    }
    writeLine(line: string, done?: () => void): void {
      // A line break within a line would begin a second command.
      this.socket?.write(`${line.replaceAll(/[\r\n\0]/g, " ")}\r\n`, () => done?.());
    }
    close(isForced: boolean): void {
      if (isForced) this.socket?.destroy();
      else this.socket?.end();
    }
    disposeSocket(): void {
      this.socket?.destroy();
    }
    setEncoding(encoding: string): boolean {
      return encoding === "utf8";
    }
  };
}

/** Returns a function that splits received bytes into lines. Cuts lines that are longer than `LINE_MAX`. */
function createLineReader(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  return (chunk) => {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_MAX);
    for (const line of lines) onLine(line.slice(0, LINE_MAX));
  };
}
