import { useRef, useState } from "preact/hooks";
import { MESSAGE_TEXT_MAX_CHARACTERS } from "../../../contract/numbers";
import { COMMAND } from "../shapes";
import type { ChatClient } from "./chat-client";
import { Commands } from "./commands";
import { Icon } from "./marks";
import { useRequest } from "./use-request";

export interface ComposerProps {
  readonly conversation: string;
  readonly title: string;
  readonly isDm: boolean;
  /** Whether the buttons of commands are shown. */
  readonly hasCommands: boolean;
  /** Place of the newest message from the service. */
  readonly answeredAt: number;
  readonly client: ChatClient;
}

/** The text field of a conversation, and the buttons for commands. */
export function Composer({ conversation, title, isDm, hasCommands, answeredAt, client }: ComposerProps) {
  const [text, setText] = useState("");
  const { fault, send } = useRequest();
  const field = useRef<HTMLTextAreaElement>(null);

  const say = (said: string): Promise<boolean> => send(() => client.say({ conversation, text: said }));
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
      {hasCommands && <Commands answeredAt={answeredAt} onCommand={(command) => void say(command)} />}
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
