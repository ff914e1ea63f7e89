import { useState } from "preact/hooks";
import type { Message, Note, ServicePost } from "../shapes";
import { AnswerForm } from "./answer-form";
import { ButtonRows } from "./button-rows";
import type { ChatClient } from "./chat-client";
import { isCurrent, readGameData } from "./game-data";
import { useRequest } from "./use-request";
import { useSettled } from "./use-settled";

/** Milliseconds after which a press is no longer marked as pending, if the game does not answer. */
const UNANSWERED_MS = 10_000;

/** A press or a typed answer, together with the message and the note that the member saw at the time. */
interface Pending {
  /** The button's action; undefined for a typed answer. */
  readonly action: string | undefined;
  readonly words: string;
  readonly message: Message;
  readonly note: Note | undefined;
}

export interface CardActionsProps {
  readonly post: ServicePost;
  readonly note: Note | undefined;
  readonly client: ChatClient;
}

/**
 * The controls of a message. A press is marked immediately, and only one press or answer is in progress at a time. The
 * press or answer is no longer in progress when the message or the note changes, when the report fails, or after
 * `UNANSWERED_MS`.
 *
 * The parent gives each set of controls its own `key`, so that new controls have a new state.
 */
export function CardActions({ post, note, client }: CardActionsProps) {
  const { message } = post;
  const isSettled = useSettled(post.id);
  const { fault, send } = useRequest();
  const [last, setLast] = useState<Pending | undefined>(undefined);
  const pending = last?.message === message && last.note === note ? last : undefined;

  const shown = readGameData(message);
  const noted = note && readGameData(note.message);
  const answer = noted !== undefined && isCurrent(noted, shown) ? noted.answer : undefined;
  const isOpen = isSettled && pending === undefined;

  async function act(action: string | undefined, words: string, request: () => Promise<unknown>) {
    const begun = { action, words, message, note };
    const end = (): void => setLast((now) => (now === begun ? undefined : now));
    setLast(begun);
    if (await send(request)) setTimeout(end, UNANSWERED_MS);
    else end();
  }

  return (
    <>
      <p class="unseen" role="status">
        {pending !== undefined && `Sending: ${pending.words}`}
      </p>
      <p class="fault" role="alert">
        {fault}
      </p>
      <ButtonRows
        rows={message.buttons}
        isOpen={isOpen && answer === undefined}
        isSettled={isSettled}
        pending={pending?.action}
        chosen={shown.options === undefined ? undefined : answer}
        onPress={({ action, label }) => void act(action, label, () => client.press(post.id, action))}
      />
      {message.awaitsReply && answer === undefined && (
        <AnswerForm
          isNumber={shown.unit !== undefined}
          isOpen={isOpen}
          isPending={pending !== undefined}
          onAnswer={(text) => void act(undefined, text, () => client.answer(post.id, text))}
        />
      )}
    </>
  );
}
