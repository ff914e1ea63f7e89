import { useId, useRef } from "preact/hooks";
import { MESSAGE_TEXT_MAX_CHARACTERS } from "../../../contract/numbers";

export interface AnswerFormProps {
  /** Whether the answer is a number, so that a phone shows its numeric keyboard. */
  readonly isNumber: boolean;
  readonly isOpen: boolean;
  /** Whether an answer is being sent. */
  readonly isPending: boolean;
  onAnswer(text: string): void;
}

/**
 * The field for a typed answer, inside the message that asks for the answer. The answer is sent only to the service,
 * and not posted in the chat.
 */
export function AnswerForm({ isNumber, isOpen, isPending, onAnswer }: AnswerFormProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        const text = field.current?.value.trim() ?? "";
        if (isOpen && text !== "") onAnswer(text);
      }}
    >
      <label for={id}>Your answer</label>
      <input
        id={id}
        ref={field}
        autocomplete="off"
        enterkeyhint="send"
        inputMode={isNumber ? "decimal" : "text"}
        maxLength={MESSAGE_TEXT_MAX_CHARACTERS}
        readOnly={isPending}
      />
      <button type="submit" class="button primary" aria-disabled={!isOpen} aria-busy={isPending}>
        Answer
      </button>
    </form>
  );
}
