import { useLayoutEffect, useRef } from "preact/hooks";
import type { Member, Note, ServicePost } from "../shapes";
import { CardActions } from "./card-actions";
import type { ChatClient } from "./chat-client";
import { isCurrent, readGameData } from "./game-data";
import { ServiceMark } from "./marks";
import { Options, Outcome } from "./outcome";
import { OwnScore } from "./own-score";
import { lookOf, PostHead, timeOf } from "./post-head";
import { RichText } from "./rich-text";
import { TimeLeft } from "./time-left";

export interface MessagePostProps {
  readonly post: ServicePost;
  readonly me: Member;
  /** The member's newest note on the post. */
  readonly note: Note | undefined;
  readonly client: ChatClient;
}

/** A message from the service. Every kind except `text` is shown as a card, including unknown kinds. */
export function MessagePost({ post, me, note, client }: MessagePostProps) {
  const { message } = post;
  const article = useRef<HTMLElement>(null);
  const focused = useRef<Element | undefined>(undefined);
  // When an edit removes the focused control, the focus moves to the control's message.
  useLayoutEffect(() => {
    if (focused.current === undefined || focused.current.isConnected) return;
    focused.current = undefined;
    if (document.activeElement === document.body) article.current?.focus({ preventScroll: true });
  }, [message]);
  const data = readGameData(message);
  const isReveal = data.right !== undefined;
  return (
    <li class={lookOf(post)}>
      <ServiceMark />
      <article
        id={`post-${post.id}`}
        ref={article}
        tabIndex={-1}
        aria-label={`Games, ${timeOf(post.at)}`}
        onFocusIn={({ target }) => (focused.current = target as Element)}
        onFocusOut={({ relatedTarget }) => {
          if (relatedTarget !== null) focused.current = undefined;
        }}
      >
        <PostHead name="Games" post={post}>
          <span class="tag">app</span>
        </PostHead>
        <div class={message.kind === "text" ? "plain-message" : `card kind-${message.kind}`}>
          <RichText text={message.text} />
          {message.image !== null && (
            <img class="picture" src={message.image} alt="Picture of this message" />
          )}
          {/* When lines are added above the controls, the card grows upwards, so the controls do not move. */}
          <div class="own-lines" role="status">
            {note !== undefined && isCurrent(readGameData(note.message), data) && (
              <RichText text={note.message.text} />
            )}
            {isReveal && <Outcome data={data} me={me} />}
          </div>
          {isReveal && data.options !== undefined && <Options data={data} me={me} />}
          <CardActions key={controlsOf(post)} post={post} note={note} client={client} />
          {data.endsAtMs !== undefined && message.kind !== "game_end" && (
            <p class="foot">
              <TimeLeft data={data} endsAtMs={data.endsAtMs} />
              <OwnScore data={data} me={me} />
            </p>
          )}
        </div>
      </article>
    </li>
  );
}

/** Returns a string that changes when the controls of a message change. */
function controlsOf({ message }: ServicePost): string {
  return JSON.stringify([
    message.buttons,
    message.awaitsReply,
    message.awaitsReply && message.data?.["question"],
  ]);
}
