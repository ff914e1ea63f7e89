import { useEffect, useRef, useState } from "preact/hooks";
import { MESSAGE_TEXT_MAX_CHARACTERS } from "../../../bridge/contract";
import { COMMAND, type Post } from "../shapes";
import type { ChatClient } from "./chat-client";
import { Icon } from "./marks";
import { excerpt } from "./post-view";
import { useRequest } from "./use-request";

/** Commands that have a button. All commands can also be typed. */
const COMMANDS = [
  ["Start a game", "start"],
  ["Suggest a topic", "suggest"],
  ["Help", ""],
] as const;

export interface ComposerProps {
  readonly conversation: string;
  readonly title: string;
  readonly isDm: boolean;
  readonly client: ChatClient;
  /** The post that the next message replies to; undefined if there is none. */
  readonly replied: Post | undefined;
  /** Called with the id of the answered post when the reply is sent or cancelled. */
  onReplied(post: number): void;
}

export function Composer({ conversation, title, isDm, client, replied, onReplied }: ComposerProps) {
  const [text, setText] = useState("");
  const { fault, send } = useRequest();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (replied !== undefined) field.current?.focus();
  }, [replied?.id]);

  async function say(said: string): Promise<boolean> {
    const reply = replied === undefined ? {} : { replyTo: replied.id };
    const isSent = await send(() => client.say({ conversation, text: said, ...reply }));
    if (isSent && replied !== undefined) onReplied(replied.id);
    return isSent;
  }
  async function sayTyped(): Promise<void> {
    // The field's value can be newer than `text`, which changes only at the next render.
    const typed = field.current?.value ?? text;
    if (typed.trim() === "") return;
    // The field is cleared before the answer arrives: text typed in the meantime belongs to the next message.
    setText("");
    if (!(await say(typed))) setText((since) => (since === "" ? typed : `${typed}\n${since}`));
  }

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void sayTyped();
      }}
    >
      {!isDm && (
        <div class="commands" role="group" aria-label="Commands">
          {COMMANDS.map(([label, command]) => (
            <button
              key={command}
              type="button"
              class="chip"
              title={`${COMMAND} ${command}`}
              onClick={() => void say(`${COMMAND} ${command}`)}
            >
              {label}
            </button>
          ))}
        </div>
      )}
      {replied !== undefined && (
        <p class="replying">
          <Icon name="reply" />
          <span>Answering: {excerpt(replied)}</span>
          <button
            type="button"
            class="button quiet-button"
            aria-label="Cancel the answer"
            onClick={() => onReplied(replied.id)}
          >
            <Icon name="close" />
          </button>
        </p>
      )}
      <div class="compose-line">
        <textarea
          ref={field}
          rows={1}
          value={text}
          maxLength={MESSAGE_TEXT_MAX_CHARACTERS}
          aria-label={`Message ${title}`}
          aria-describedby="composer-fault"
          placeholder={isDm ? `Message ${title}` : `Message ${title}, or ${COMMAND} …`}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape" && replied !== undefined) onReplied(replied.id);
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void sayTyped();
          }}
        />
        <button type="submit" class="button primary send" aria-label="Send">
          <Icon name="send" />
        </button>
      </div>
      <p id="composer-fault" class="fault" role="alert">
        {fault}
      </p>
    </form>
  );
}
