import type { Message } from "../../kit/events";

/** Types of the values that the chat's server and its page exchange. */

export type { ActionButton, Button, Message } from "../../kit/events";

export interface Member {
  readonly id: string;
  readonly name: string;
}

export interface Channel {
  readonly id: string;
  readonly name: string;
}

/** The state of a post's report to the service. */
export type Report =
  | { readonly is: "sending" }
  | { readonly is: "sent" }
  | { readonly is: "failed"; readonly why: string };

interface PostHead {
  /** The chat's own id for the post. */
  readonly id: number;
  /**
   * Position in the conversation: a later post has a higher place. A message moves to the end when a phase of its game
   * starts.
   */
  readonly place: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Id of a channel, or `dm:` followed by a member's id for the member's direct conversation with the service. */
  readonly conversation: string;
  /** Id of the only member who sees the post; null if everyone in the conversation sees it. */
  readonly onlyFor: string | null;
}

export interface TypedPost extends PostHead {
  readonly by: "member";
  readonly author: Member;
  readonly text: string;
  readonly isCommand: boolean;
  readonly report: Report;
}

export interface ServicePost extends PostHead {
  readonly by: "service";
  readonly message: Message;
  /** Number of times that the message was edited in place. */
  readonly edits: number;
  /** Time of the last edit, or of the post if there was no edit; ISO 8601, UTC. */
  readonly changedAt: string;
}

export type Post = TypedPost | ServicePost;

/**
 * A message to one member that belongs to a post, e.g. the confirmation of a press. The post's card shows the member's
 * newest note, so that notes do not push the card out of view.
 */
export interface Note {
  /** Id of the post. */
  readonly about: number;
  /** Id of the member. */
  readonly to: string;
  readonly message: Message;
}

export type LinkMode = "poll" | "push";

/**
 * The ways in which members can break the bridge on purpose: it uses a wrong secret, answers pushes too slowly, answers
 * pushes with 503, has a clock that is six minutes behind, or has no network.
 */
export const BREAKS = ["secret", "slow", "unavailable", "clock", "cut"] as const;
export type Break = (typeof BREAKS)[number];
/**
 * A command that the bridge reports before a break begins. A game answers, and the broken bridge rejects the answer.
 * `start` opens a game; while a game runs, `help` gets a private answer that does not disturb the game.
 */
export interface LastCommand {
  /** Id of a channel. */
  readonly channel: string;
  readonly text: "start" | "help";
}
/** The breaks that affect only pushes. */
export const PUSH_BREAKS: readonly Break[] = ["slow", "unavailable"];

/** How the bridge gets events, and whether the bridge is connected. */
export interface LinkState {
  readonly mode: LinkMode;
  /** How a member has broken the bridge, and the member's name; null while the bridge is not broken. */
  readonly broken: { readonly how: Break; readonly by: string } | null;
  /** Whether a change of the mode, or the start of a break, is in progress. */
  readonly isSwitching: boolean;
  /** Why the mode cannot be changed; null when a change is possible. */
  readonly whyFixed: string | null;
  /** Why polls are failing now; null when polls succeed. */
  readonly problem: string | null;
}

/** The request or the answer of an exchange: its relevant headers, and its body as text. */
export interface WireSide {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body; only its first characters if `isShortened` is true. */
  readonly body: string;
  readonly isShortened: boolean;
}

/** One HTTP request from the bridge or the service, and its answer. */
export interface Exchange {
  /** Later exchanges have higher ids. */
  readonly id: number;
  readonly at: string;
  /** The bridge sends a `report` or a `poll`; the service sends a `push`. */
  readonly what: "report" | "poll" | "push";
  readonly method: string;
  readonly path: string;
  readonly request: WireSide;
  /** Ids of the events that the service sent: at most 100. Empty for a report. */
  readonly eventIds: readonly string[];
  /** Null if there was no answer. */
  readonly answer: (WireSide & { readonly status: number }) | null;
  /** Why there was no answer; null if there was an answer. */
  readonly failure: string | null;
  readonly ms: number;
  /** Number of consecutive empty polls in this entry; 1 for all other exchanges. */
  readonly times: number;
}

/** An event of the page's stream, sent as one line of JSON. */
export type StreamEvent =
  | {
      readonly type: "welcome";
      readonly me: Member;
      readonly channels: readonly Channel[];
      /** Oldest first. If there are too many posts, only the newest posts. */
      readonly posts: readonly Post[];
      readonly notes: readonly Note[];
      readonly link: LinkState;
      /** URL of the workspace's page in the dashboard; null if DASHBOARD_URL is not set. */
      readonly dashboard: string | null;
      /** Newest first. */
      readonly exchanges: readonly Exchange[];
    }
  /** A new or changed post. */
  | { readonly type: "post"; readonly post: Post }
  /** A new note, which replaces the member's previous note on the same post. */
  | { readonly type: "note"; readonly note: Note }
  | { readonly type: "link"; readonly link: LinkState }
  /** A new exchange, or an entry with one more empty poll. */
  | { readonly type: "exchange"; readonly exchange: Exchange }
  /** Events expired before the bridge fetched them. */
  | { readonly type: "missed" };

/** Maximum characters of a member's name, enforced by the server and the page. */
export const NAME_MAX = 40;

/** The word that begins a command. */
export const COMMAND = "/play";
