import { ACTION_MAX_CHARACTERS } from "../../contract/numbers";
import type { Button } from "./content";
import { millisecondsOf, type Duration } from "./duration";
import { copyJson, type Json } from "./json";
import { NAME_FORM } from "./names";
import type { AnswerToken, MemberTurn, PressTurn, TimerToken, Turn } from "./turn";

/** A handler may return anything; a promise is awaited. */
type Done = unknown;
/** The payload argument of a token's function: optional if the payload can be undefined. */
type Payload<P> = undefined extends P ? [payload?: P] : [payload: P];

export interface GameOptions<State> {
  /** 1 to 32 characters of a-z 0-9 -. The first word of the game's commands. */
  readonly name: string;
  /** Returns the initial state of a workspace or channel: a value that JSON can express. */
  readonly state?: () => State;
  /** Whether `turn.state` belongs to the workspace or to the channel of the turn. The default is "workspace". */
  readonly per?: "workspace" | "channel";
  /** Maximum age of an event. Older events are ignored, e.g. after an outage. The default is 5 minutes. */
  readonly maxEventAge?: Duration;
  /**
   * The text that a member sees when the kit drops the member's command, press or answer, because its handler has failed
   * 5 times. `false` shows nothing. The default is "That did not work. Try again in a moment."
   */
  readonly failureNotice?: string | false;
}

export interface GameCommand<State> {
  readonly description: string;
  readonly run: (turn: MemberTurn<State>, words: readonly string[]) => Done;
}

export interface ActionOptions<P> {
  /**
   * Returns whether the payload of a press is valid. A bridge can send any text as an action, so without a check, the
   * payload can be any JSON value. `game.otherAction` handles a press whose payload is invalid.
   */
  readonly check?: ((payload: unknown) => payload is P) | undefined;
}

export interface GameAction<State> {
  readonly run: (turn: PressTurn<State>, payload: never) => Done;
  readonly check: ((payload: unknown) => boolean) | undefined;
}

/** The handlers of a game. `GameRun` calls them. */
export interface Handlers<State> {
  readonly commands: Map<string, GameCommand<State>>;
  readonly actions: Map<string, GameAction<State>>;
  readonly timers: Map<string, (turn: Turn<State>, payload: never) => Done>;
  readonly answers: Map<string, (turn: PressTurn<State>, text: string, payload: never) => Done>;
  unknown: ((turn: MemberTurn<State>, words: readonly string[]) => Done) | undefined;
  otherAction: ((turn: PressTurn<State>) => Done) | undefined;
  message: ((turn: MemberTurn<State>, text: string) => Done) | undefined;
  stop: ((turn: Turn<State>) => Done) | undefined;
}

/** Creates a game without handlers. Throws RangeError for an invalid name. */
export function createGame<State = undefined>(options: GameOptions<State>): Game<State> {
  return new Game(options);
}

/**
 * A game: its name, its initial state, and its handlers. Each handler gets a turn, changes `turn.state`, and posts
 * messages. The new state and the messages take effect when the handler returns or its promise resolves. If the handler
 * throws, nothing takes effect, and the kit retries the handler up to 4 times.
 *
 * The payload is saved as JSON with the button, timer or answer, so the handler gets the payload in any process.
 */
export class Game<State = undefined> {
  readonly name: string;
  readonly per: "workspace" | "channel";
  readonly maxEventAgeMs: number;
  readonly failureNotice: string | false;
  /** Returns a new state. */
  readonly newState: () => State;
  readonly handlers: Handlers<State> = {
    commands: new Map(),
    actions: new Map(),
    timers: new Map(),
    answers: new Map(),
    unknown: undefined,
    otherAction: undefined,
    message: undefined,
    stop: undefined,
  };

  constructor({
    name,
    per = "workspace",
    state = () => undefined as State,
    maxEventAge = "5 m",
    failureNotice = "That did not work. Try again in a moment.",
  }: GameOptions<State>) {
    if (!NAME_FORM.test(name))
      throw new RangeError(`the name of a game is 1 to 32 characters of a-z 0-9 -: "${name}"`);
    if (failureNotice !== false && failureNotice.trim() === "")
      throw new RangeError("the notice about a failure is empty: set failureNotice to false to show none");
    this.name = name;
    this.per = per;
    this.maxEventAgeMs = millisecondsOf(maxEventAge);
    this.failureNotice = failureNotice;
    this.newState = state;
  }

  /**
   * Handles the command `<name of the game> <verb> <words>`. An empty verb stands for the command without words. The
   * description is shown in the help, which the kit sends for a command without a handler.
   */
  command(verb: string, description: string, run: GameCommand<State>["run"]): this {
    if (!/^\S{0,32}$/.test(verb) || verb !== verb.toLowerCase()) {
      throw new RangeError(
        `the verb of a command is one word of at most 32 lower-case characters: "${verb}"`,
      );
    }
    define(this.handlers.commands, "command", verb, { description, run });
    return this;
  }

  /** Handles commands for this game that have no handler. Without this handler, the kit answers them with its help. */
  otherCommand(run: NonNullable<Handlers<State>["unknown"]>): this {
    this.handlers.unknown = run;
    return this;
  }

  /** Handles typed messages that are not the awaited answer to a question. */
  message(run: NonNullable<Handlers<State>["message"]>): this {
    this.handlers.message = run;
    return this;
  }

  /** Handles presses of buttons. Returns the function that makes such buttons. */
  action<P extends Json | undefined = undefined>(
    name: string,
    run: (turn: PressTurn<State>, payload: P) => Done,
    { check }: ActionOptions<P> = {},
  ): (label: string, ...payload: Payload<P>) => Button {
    define(this.handlers.actions, "action", tokenName(name), { run, check });
    return (label, ...[payload]) => ({ label, action: writeAction(name, payload) });
  }

  /**
   * Handles presses of this game's buttons that have no valid handler. Either the check of `action` rejects the payload, or
   * an older version of the game has posted the button. By default, these presses have no effect.
   */
  otherAction(run: NonNullable<Handlers<State>["otherAction"]>): this {
    this.handlers.otherAction = run;
    return this;
  }

  /** Handles timers. Returns the function that makes tokens for `turn.after` and `turn.at`. */
  timer<P extends Json | undefined = undefined>(
    name: string,
    run: (turn: Turn<State>, payload: P) => Done,
  ): (...payload: Payload<P>) => TimerToken {
    define(this.handlers.timers, "timer", tokenName(name), run);
    return (...[payload]) => ({
      timer: name,
      ...(payload !== undefined && { payload: copyJson(payload, "payload") }),
    });
  }

  /** Handles the awaited answers to questions: `turn.message` is the question. Returns the function that makes tokens for `turn.ask`. */
  answer<P extends Json | undefined = undefined>(
    name: string,
    run: (turn: PressTurn<State>, text: string, payload: P) => Done,
  ): (...payload: Payload<P>) => AnswerToken {
    define(this.handlers.answers, "answer", tokenName(name), run);
    return (...[payload]) => ({
      answer: name,
      ...(payload !== undefined && { payload: copyJson(payload, "payload") }),
    });
  }

  /**
   * Runs when the process stops, once for each workspace or channel that is in memory or has a timer. Use `onStop` only
   * for games without a store, e.g. to announce the end of a game. With a store, the next process continues the games.
   */
  onStop(run: NonNullable<Handlers<State>["stop"]>): this {
    this.handlers.stop = run;
    return this;
  }
}

function define<T>(handlers: Map<string, T>, what: string, name: string, handler: T): void {
  if (handlers.has(name)) throw new RangeError(`the game has two handlers of the ${what} "${name}"`);
  handlers.set(name, handler);
}

function tokenName(name: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new RangeError(`the name of a handler is 1 to 64 characters of A-Z a-z 0-9 _ -: "${name}"`);
  }
  return name;
}

/** Room for the name of the game and a colon, which are added when the button is published. */
const NAME_ROOM = 33;

function writeAction(name: string, payload: Json | undefined): string {
  const action = payload === undefined ? name : `${name}:${JSON.stringify(copyJson(payload, "payload"))}`;
  const most = ACTION_MAX_CHARACTERS - NAME_ROOM;
  if (action.length <= most) return action;
  throw new RangeError(
    `the action "${name}" with its payload has ${action.length} characters, but the maximum is ${most}: keep large values in the state, and put their id into the payload`,
  );
}

/**
 * Returns the name and the payload in a button's action without the name of the game; undefined if the text is invalid.
 */
export function readAction(
  text: string,
): { readonly name: string; readonly payload: Json | undefined } | undefined {
  const colon = text.indexOf(":");
  if (colon < 0) return { name: text, payload: undefined };
  try {
    return { name: text.slice(0, colon), payload: JSON.parse(text.slice(colon + 1)) as Json };
  } catch {
    return undefined; // an older version of the game has posted the button
  }
}
