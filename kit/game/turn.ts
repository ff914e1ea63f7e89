import type { Content } from "./content";
import type { Duration } from "./duration";
import type { Json } from "./json";

/** A reference to a message, for `turn.update`. The reference is a string, which can be saved in the state. */
export type MessageRef = `${string}@${string}`;

/** A member of a chat. The same id in two workspaces does not mean the same member. */
export interface Member {
  readonly id: string;
  /** The display name, or the id if the bridge sent none. Not escaped: use `md`. */
  readonly name: string;
}

/** A timer of a game with its payload, for `turn.after` and `turn.at`. */
export interface TimerToken {
  readonly timer: string;
  readonly payload?: Json | undefined;
}

/** An answer of a game with its payload, for `turn.ask`. */
export interface AnswerToken {
  readonly answer: string;
  readonly payload?: Json | undefined;
}

export interface AskOptions {
  /** Id of the member who is asked in a DM; by default, the question is posted in the channel of the turn. */
  readonly to?: string | undefined;
  /** Who may answer in the channel: a member's id, or "anyone". The default is the member of the turn. */
  readonly from?: string | undefined;
  /** How long the question is open. By default, it is open until a member answers. */
  readonly within?: Duration | undefined;
}

export interface EphemeralOptions {
  /**
   * The message that an ephemeral belongs to. The message's id becomes the field `about` of the data, for bridges that
   * draw messages themselves. Ignored in a direct conversation.
   */
  readonly about?: MessageRef | undefined;
}

/** The argument of each handler. A turn ends when its handler returns or the handler's promise settles. */
export interface Turn<State> {
  /**
   * The id of the turn, which is the same in each attempt. Use the id as the seed of random choices, so that each
   * attempt makes the same choices.
   */
  readonly id: string;
  readonly workspaceId: string;
  /**
   * The channel of the event, or of the turn that set the timer; in a direct conversation, `dm:` followed by a member's
   * id.
   */
  readonly channel: string | undefined;
  /** The member who caused the event, or whose event led to the timer. */
  readonly user: Member | undefined;
  /** ms since the epoch. */
  readonly now: number;
  /**
   * The state of the workspace or channel. A handler can change the state or assign a new one. JSON must be able to
   * express it.
   */
  state: State;
  /** Removes the state, so that the next turn begins with the initial state. */
  reset(): void;
  /** Posts a message in the channel of the turn. */
  reply(content: Content): MessageRef;
  /** Posts a message in a channel of the workspace. */
  post(channel: string, content: Content): MessageRef;
  /** Sends a message to a member directly. */
  dm(userId: string, content: Content): MessageRef;
  /** Shows a message to one member only. In a direct conversation, posts an ordinary message instead. */
  ephemeral(content: Content, userId?: string, options?: EphemeralOptions): void;
  /** Replaces a message. */
  update(content: Content, message: MessageRef): void;
  /**
   * Posts a question. The handler in `token` gets the next message that replies to the question or to no message. In a
   * direct conversation, the question replaces an earlier question with the same handler, and the next message is the
   * answer, even if it replies to another message.
   */
  ask(content: Content, token: AnswerToken, options?: AskOptions): MessageRef;
  /** Sets a timer, which survives a restart and runs in one process. Returns its id for `cancel`. */
  after(delay: Duration, token: TimerToken): string;
  /** Sets a timer for a time in ms since the epoch. */
  at(atMs: number, token: TimerToken): string;
  /** Cancels a timer. Returns false if the timer has already run or was canceled. */
  cancel(timerId: string): boolean;
  /** Returns the command for `verb` as a member types it after the chat's own command, e.g. `start` or `quiz start`. */
  usage(verb: string): string;
}

/** The turn of an event that a member caused. */
export interface MemberTurn<State> extends Turn<State> {
  readonly channel: string;
  readonly user: Member;
  /** The message that a typed message replies to. */
  readonly replyTo: MessageRef | undefined;
}

/** The turn of a press, or of the answer to a question. */
export interface PressTurn<State> extends MemberTurn<State> {
  /** The message with the button, or with the question. */
  readonly message: MessageRef;
  /** Replaces a message; by default, the message with the button or the question. */
  update(content: Content, message?: MessageRef): void;
}
