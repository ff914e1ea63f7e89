/** The parts of the XMPP libraries that the bridge uses. The libraries contain no types. */

declare module "ltx" {
  export type Attributes = Readonly<Record<string, string | undefined>>;
  export class Element {
    readonly name: string;
    readonly attrs: Record<string, string | undefined>;
    is(name: string, xmlns?: string): boolean;
    getNS(): string | undefined;
    getChild(name: string, xmlns?: string): Element | undefined;
    getChildren(name: string, xmlns?: string): Element[];
    /** Without an argument, returns all child elements. */
    getChildElements(): Element[];
    getChildText(name: string, xmlns?: string): string | null;
    /** Returns the text of the element. */
    getText(): string;
    toString(): string;
  }
  export function createElement(
    name: string,
    attributes?: Attributes,
    ...children: readonly (Element | string | undefined)[]
  ): Element;
  export function parse(text: string): Element;
}

declare module "@xmpp/connection-tcp" {
  /** A connection that sends a stream's elements over a socket. */
  export default class ConnectionTCP {
    Socket: unknown;
    /** The namespace of the stanzas. */
    NS: string;
    socketParameters(service: string): object | undefined;
  }
}

declare module "@xmpp/client" {
  import type { EventEmitter } from "node:events";
  import type { Element } from "ltx";

  export interface ClientOptions {
    readonly service: string;
    readonly domain: string;
    readonly username: string;
    readonly password: string;
    readonly resource?: string;
    /** Milliseconds. */
    readonly timeout?: number;
  }
  export interface Client extends EventEmitter {
    readonly status: string;
    readonly jid: { toString(): string } | null;
    readonly transports: unknown[];
    readonly reconnect: { stop(): void };
    readonly streamManagement: EventEmitter;
    readonly iqCaller: { request(iq: Element, timeoutMs?: number): Promise<Element> };
    /** Opens the socket. */
    connect(service: string): Promise<unknown>;
    /** Opens the stream. The library then logs in. */
    open(options: { readonly domain: string }): Promise<unknown>;
    send(element: Element): Promise<void>;
    stop(): Promise<unknown>;
  }
  export function client(options: ClientOptions): Client;
}
