import { useLayoutEffect, useRef } from "preact/hooks";
import { MessagePost, type MessagePostProps } from "./message-post";

export interface StageProps extends MessagePostProps {
  /**
   * Called when the game ends while the focus is in its message, which then moves to the timeline. `byPointer` is true
   * if the member used a mouse or a finger last.
   */
  onFocusLost(post: number, byPointer: boolean): void;
}

/**
 * The message of the running game, shown between the timeline and the text field, so that posts by members never move
 * it.
 */
export function Stage({ onFocusLost, ...message }: StageProps) {
  const hasFocus = useRef(false);
  const byPointer = useRef(false);
  const { id } = message.post;
  useLayoutEffect(
    () => () => {
      if (!hasFocus.current) return;
      queueMicrotask(() => {
        if (document.activeElement === document.body) onFocusLost(id, byPointer.current);
      });
    },
    [id],
  );
  return (
    <section
      class="stage"
      aria-label="Current game"
      onPointerDown={() => (byPointer.current = true)}
      onKeyDown={() => (byPointer.current = false)}
      onFocusIn={() => (hasFocus.current = true)}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget !== null) hasFocus.current = false;
      }}
    >
      <ul>
        <MessagePost {...message} />
      </ul>
    </section>
  );
}
