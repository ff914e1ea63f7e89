import { DM_PREFIX } from "../../contract/forms";
import type { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import type { AskedQuestion, Place, WaitingTimer, WorkspaceDocument } from "./document";
import { readAction, type Game, type GameAction } from "./game";
import { isFirst, readCommand, writeCommand, type GameNames } from "./names";
import { readRef } from "./publish-outbox";
import type { RunCounts } from "./run-counts";
import { HandlerTurn, type TurnFacts } from "./handler-turn";
import type { Member, MemberTurn, MessageRef, PressTurn } from "./turn";

type Done = unknown;

/** A handler that is ready to run. */
export interface Call<State> {
  /** The name of the handler, for logs. The name never contains text that a member typed. */
  readonly name: string;
  readonly place: Place;
  /** Whether the event was meant for this game. If so, the kit notifies the member when it drops the event. */
  readonly isAddressed?: boolean | undefined;
  readonly message?: MessageRef | undefined;
  readonly replyTo?: MessageRef | undefined;
  /** Changes the draft before the handler runs. */
  readonly prepare?: (draft: WorkspaceDocument) => void;
  readonly run: (turn: HandlerTurn<State>) => Done;
}

/**
 * Returns the call of the handler for an event that the service received at `receivedAtMs`; undefined if the event is not
 * for this game.
 */
export function callFor<State>(
  game: Game<State>,
  names: GameNames,
  { channel, user, kind }: InboundEvent,
  document: WorkspaceDocument,
  receivedAtMs: number,
  counts: Pick<RunCounts, "invalidPresses">,
): Call<State> | undefined {
  if (channel === undefined || user === undefined) return undefined;
  const place = { channel: channel.id, user: { id: user.id, name: user.name ?? user.id } };
  switch (kind?.$case) {
    case "command": {
      const words = readCommand(kind.value.text, names);
      return words && commandCall(game, names, place, words);
    }
    case "action":
      return actionCall(game, names, place, kind.value, document, counts);
    case "message":
      return messageCall(
        game,
        { ...place, text: kind.value.text, replyTo: kind.value.replyTo },
        document,
        receivedAtMs,
      );
    case undefined:
      return undefined;
  }
}

/** Returns the call of a timer's handler; undefined if the game no longer has such a timer. */
export function callForTimer<State>(
  game: Game<State>,
  { name, payload, place }: WaitingTimer,
): Call<State> | undefined {
  const run = game.handlers.timers.get(name);
  return run && { name: `timer "${name}"`, place, run: (turn) => run(turn, payload as never) };
}

interface Here {
  readonly channel: string;
  readonly user: Member;
}

function commandCall<State>(
  game: Game<State>,
  names: GameNames,
  place: Place,
  words: readonly string[],
): Call<State> {
  const { commands, unknown } = game.handlers;
  const [verb = "", ...rest] = words;
  const own = commands.get(verb.toLowerCase());
  if (own !== undefined) {
    return {
      name: `command "${verb.toLowerCase()}"`,
      place,
      isAddressed: true,
      run: (turn) => own.run(turn as MemberTurn<State>, rest),
    };
  }
  if (unknown !== undefined) {
    const run = (turn: unknown): Done => unknown(turn as MemberTurn<State>, words);
    return { name: "other command", place, isAddressed: true, run };
  }
  return {
    name: "help",
    place,
    isAddressed: true,
    run: (turn) => turn.ephemeral({ kind: "help", text: helpText(game, names) }),
  };
}

/** Returns the commands of a game, as Markdown. */
export function helpText<State>({ name, handlers }: Game<State>, names: GameNames): string {
  const lines = [...handlers.commands].map(
    ([verb, { description }]) => `\`${writeCommand(verb, names) || name}\` · ${description}`,
  );
  const others = names.all.filter((each) => each !== names.own);
  const more = isFirst(names) && others.length > 0 ? `\n\nOther games: ${others.join(", ")}` : "";
  return `**${name}**: type the chat's command for games, and after it one of these:\n\n${lines.join("\n")}${more}`;
}

function actionCall<State>(
  game: Game<State>,
  names: GameNames,
  place: Here,
  { action, messageId }: { readonly action: string; readonly messageId: string },
  document: WorkspaceDocument,
  counts: Pick<RunCounts, "invalidPresses">,
): Call<State> | undefined {
  const prefix = `${names.own}:`;
  if (!action.startsWith(prefix)) return undefined;
  const read = readAction(action.slice(prefix.length));
  const known = read && game.handlers.actions.get(read.name);
  const { otherAction } = game.handlers;
  const pressed = { place, isAddressed: true, message: refOf(messageId, place.channel, document) };
  if (read !== undefined && known !== undefined && passes(known, read.payload)) {
    const run = (turn: unknown): Done => known.run(turn as PressTurn<State>, read.payload as never);
    return { name: `action "${read.name}"`, ...pressed, run };
  }
  counts.invalidPresses += 1;
  if (otherAction === undefined) return undefined;
  return { name: "other action", ...pressed, run: (turn) => otherAction(turn as PressTurn<State>) };
}

function passes<State>({ check }: GameAction<State>, payload: unknown): boolean {
  try {
    return check === undefined || check(payload);
  } catch {
    return false; // the check has read a field of another value, e.g. of null
  }
}

interface Typed extends Here {
  readonly text: string;
  /** Id of the message that the text replies to. */
  readonly replyTo: string | undefined;
}

function messageCall<State>(
  game: Game<State>,
  typed: Typed,
  document: WorkspaceDocument,
  receivedAtMs: number,
): Call<State> | undefined {
  const { channel, user, text, replyTo: id } = typed;
  const place = { channel, user };
  const replyTo: MessageRef | undefined = id === undefined ? undefined : refOf(id, channel, document);
  const asked = questionFor(typed, document, receivedAtMs);
  const answer = asked && game.handlers.answers.get(asked.name);
  if (asked !== undefined && answer !== undefined) {
    return {
      name: `answer "${asked.name}"`,
      place,
      isAddressed: true,
      message: asked.message as MessageRef,
      replyTo,
      prepare: (draft) => void (draft.asked = draft.asked.filter((each) => each !== asked)),
      run: (turn) => answer(turn as PressTurn<State>, text, asked.payload as never),
    };
  }
  const { message } = game.handlers;
  if (message === undefined) return undefined;
  const isAddressed = document.messages.some(([, known]) => known === id);
  const run = (turn: unknown): Done => message(turn as MemberTurn<State>, text);
  return { name: "message", place, isAddressed, replyTo, run };
}

/**
 * Returns the reference that the game got when it posted the message. For any other message, returns a reference that
 * contains the id.
 */
function refOf(id: string, channel: string, { messages }: WorkspaceDocument): MessageRef {
  const number = messages.find(([, known]) => known === id)?.[0];
  return `${number ?? id}@${channel}`;
}

/**
 * Returns the newest question that a typed message answers. A reply answers the question that it replies to. Any other
 * message answers a question to this member in the channel. In a DM, the next message answers the question even if it
 * replies to another message, as the contract requires for `awaits_reply`. A blank message is no answer.
 */
function questionFor(
  { channel, user, text, replyTo }: Typed,
  document: WorkspaceDocument,
  receivedAtMs: number,
): AskedQuestion | undefined {
  if (text.trim() === "") return undefined;
  const open = document.asked.filter(
    (asked) =>
      asked.channel === channel &&
      (asked.untilMs === undefined || receivedAtMs < asked.untilMs) &&
      (asked.user === undefined || asked.user === user.id),
  );
  if (replyTo === undefined) return open.at(-1);
  const repliedTo = open.findLast(({ message }) => readRef(message, document).id === replyTo);
  return repliedTo ?? (channel.startsWith(DM_PREFIX) ? open.at(-1) : undefined);
}

/**
 * Runs a call in a draft. Rejects if the handler fails; the draft must then be discarded.
 *
 * @param within limits the time of an asynchronous handler
 */
export async function runCall<State>(
  game: Game<State>,
  call: Call<State>,
  draft: WorkspaceDocument,
  facts: Omit<TurnFacts, "place" | "message" | "replyTo">,
  within: (work: PromiseLike<unknown>) => PromiseLike<unknown>,
): Promise<void> {
  const { place, message, replyTo } = call;
  call.prepare?.(draft);
  const turn = new HandlerTurn<State>(game, draft, { ...facts, place, message, replyTo });
  try {
    const done = call.run(turn);
    if (isPromise(done)) await within(done);
    turn.commit();
  } finally {
    turn.end();
  }
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
