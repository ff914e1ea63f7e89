import { useEffect, useRef } from "preact/hooks";
import { MessagePost, type MessagePostProps } from "./message-post";

export interface StageProps extends MessagePostProps {
  /** Called when the game ends while the focus is in its message. The message is then in the timeline. */
  onFocusLost(post: number): void;
}

/** The message of the running game, between the timeline and the text field: posts by members never move it. */
export function Stage({ onFocusLost, ...message }: StageProps) {
  const section = useRef<HTMLElement>(null);
  const { id } = message.post;
  useEffect(() => {
    const element = section.current;
    return () => {
      if (element?.contains(document.activeElement) === true) queueMicrotask(() => onFocusLost(id));
    };
  }, [id]);
  return (
    <section class="stage" ref={section} aria-label="Current game">
      <ul>
        <MessagePost {...message} />
      </ul>
    </section>
  );
}
