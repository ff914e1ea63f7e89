import type { Message } from "../../bridge/events";

/** What the chat's server and its page tell each other. */

/** Somebody in the chat. */
export interface Member {
  readonly id: string;
  readonly name: string;
}

export interface Channel {
  readonly id: string;
  readonly name: string;
}

/** What became of what a member did: whether the service has it. */
export type Report =
  { readonly is: "sending" } | { readonly is: "sent" } | { readonly is: "failed"; readonly why: string };

interface PostHead {
  /** The chat's own id of it; higher is later. */
  readonly id: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** A channel's id, or `dm:` and a member's id: the direct conversation of that member with the service. */
  readonly conversation: string;
  /** The only member who sees it; null for everyone in the conversation. */
  readonly onlyFor: string | null;
}

export interface TypedPost extends PostHead {
  readonly by: "member";
  readonly author: Member;
  readonly text: string;
  readonly isCommand: boolean;
  /** The post that it replies to. */
  readonly replyTo: number | null;
  readonly report: Report;
}

export interface ServicePost extends PostHead {
  readonly by: "service";
  readonly message: Message;
  /** How often it was edited in place. */
  readonly edits: number;
}

export type Post = TypedPost | ServicePost;

export type LinkMode = "poll" | "push";

/** How the bridge is joined to the service. */
export interface LinkState {
  readonly mode: LinkMode;
  /** Its network is cut: it neither polls nor answers pushes, and nothing that members do gets through. */
  readonly isCut: boolean;
  /** The mode is being changed. */
  readonly isSwitching: boolean;
  /** Why the mode cannot be changed; null when it can. */
  readonly whyFixed: string | null;
  /** What goes wrong now; null when nothing does. */
  readonly problem: string | null;
}

/** One side of an exchange: its headers that matter, and its body as text, shortened where it is long. */
export interface WireSide {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** One HTTP request of the bridge or of the service, and its answer. */
export interface Exchange {
  /** Higher is later. */
  readonly id: number;
  readonly at: string;
  /** `report` and `poll` go from the bridge to the service, a `push` comes from it. */
  readonly what: "report" | "poll" | "push";
  readonly method: string;
  readonly path: string;
  readonly request: WireSide;
  /** Null when there was none. */
  readonly answer: (WireSide & { readonly status: number }) | null;
  /** Why there was no answer. */
  readonly failure: string | null;
  readonly ms: number;
  /** How many empty polls in a row this stands for. */
  readonly times: number;
}

/** What the page is told, as a line of JSON each. */
export type StreamEvent =
  | {
      readonly type: "welcome";
      readonly me: Member;
      readonly channels: readonly Channel[];
      /** Oldest first; of a long chat the end. */
      readonly posts: readonly Post[];
      readonly members: readonly Member[];
      readonly link: LinkState;
      /** Newest first. */
      readonly exchanges: readonly Exchange[];
    }
  /** A new post, or one that changed. */
  | { readonly type: "post"; readonly post: Post }
  /** Those who have the page open. */
  | { readonly type: "members"; readonly members: readonly Member[] }
  | { readonly type: "link"; readonly link: LinkState }
  /** A new exchange, or one that stands for one more. */
  | { readonly type: "exchange"; readonly exchange: Exchange }
  /** Events expired before the bridge fetched them. */
  | { readonly type: "missed" };

/** Bounds that both sides keep, in characters. */
export const NAME_MAX = 40;
export const TEXT_MAX = 4000;
export const COMMAND_MAX = 2000;

/** The word that begins a command, and what members read it as. */
export const COMMAND = "/play";
