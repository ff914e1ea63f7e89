import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useNow } from "../../../dashboard/clock";
import type { Post, ServicePost, TypedPost } from "../shapes";
import { ButtonRows } from "./button-rows";
import type { ChatClient } from "./chat-client";
import { Avatar, Icon, ServiceMark } from "./marks";
import { plainText, RichText } from "./rich-text";

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const EXCERPT_CHARACTERS = 90;

const timeOf = ({ at }: Post): string => TIME.format(new Date(at));
const lookOf = ({ onlyFor }: Post): string => (onlyFor === null ? "post" : "post whispered");

export interface MemberPostProps {
  readonly post: TypedPost;
  readonly isMine: boolean;
  readonly replied: Post | undefined;
}

export function MemberPost({ post, isMine, replied }: MemberPostProps) {
  const { author, text, isCommand, report } = post;
  return (
    <li class={lookOf(post)}>
      <Avatar {...author} />
      <article id={`post-${post.id}`} aria-label={`${author.name}, ${timeOf(post)}`}>
        <Head name={author.name} post={post} />
        {replied !== undefined && (
          <p class="replied">
            <Icon name="reply" /> {excerpt(replied)}
          </p>
        )}
        {isCommand ? <code class="command">{text}</code> : <RichText text={text} />}
        {isMine && report.is === "sending" && <p class="reported">Sending to the service …</p>}
        {isMine && report.is === "failed" && (
          <p class="reported bad" role="alert">
            Not sent: {report.why}.
          </p>
        )}
      </article>
    </li>
  );
}

export interface MessagePostProps {
  readonly post: ServicePost;
  readonly client: ChatClient;
  onReply(post: number): void;
}

/** A message from the service. Every kind except `text` is shown as a card, including unknown kinds. */
export function MessagePost({ post, client, onReply }: MessagePostProps) {
  const { message, edits } = post;
  const article = useRef<HTMLElement>(null);
  const focused = useRef<Element | undefined>(undefined);
  // When an edit removes the focused button, the focus moves to the button's message.
  useLayoutEffect(() => {
    if (focused.current === undefined || focused.current.isConnected) return;
    focused.current = undefined;
    if (document.activeElement === document.body) article.current?.focus({ preventScroll: true });
  }, [message]);
  const endsAt = message.data?.["endsAt"];
  return (
    <li class={lookOf(post)}>
      <ServiceMark />
      <article
        id={`post-${post.id}`}
        ref={article}
        tabIndex={-1}
        aria-label={`Games, ${timeOf(post)}`}
        onFocusIn={({ target }) => (focused.current = target as Element)}
        onFocusOut={({ relatedTarget }) => {
          if (relatedTarget !== null) focused.current = undefined;
        }}
      >
        <Head name="Games" post={post}>
          <span class="tag">app</span>
        </Head>
        <div class={message.kind === "text" ? "plain-message" : `card kind-${message.kind}`}>
          <RichText text={message.text} />
          {message.image !== null && (
            <img class="picture" src={message.image} alt="Picture of this message" />
          )}
          <ButtonRows post={post} client={client} />
          <p class="foot">
            {message.awaitsReply && (
              <button type="button" class="button answer" onClick={() => onReply(post.id)}>
                <Icon name="reply" /> Answer
              </button>
            )}
            {typeof endsAt === "string" && message.kind !== "game_end" && <Countdown endsAt={endsAt} />}
            {edits > 0 && <span class="edited">edited {edits === 1 ? "once" : `${edits} times`}</span>}
          </p>
        </div>
      </article>
    </li>
  );
}

interface HeadProps {
  readonly name: string;
  readonly post: Post;
  readonly children?: ComponentChildren;
}

function Head({ name, post, children }: HeadProps) {
  return (
    <p class="head">
      <strong>{name}</strong>
      {children}
      <time dateTime={post.at}>{timeOf(post)}</time>
      {post.onlyFor !== null && (
        <span class="only-you">
          <Icon name="eye" /> only you see this
        </span>
      )}
    </p>
  );
}

/** Shows the seconds until `endsAt`. Screen readers ignore the countdown, because it changes every second. */
function Countdown({ endsAt }: { readonly endsAt: string }) {
  const left = Math.ceil((Date.parse(endsAt) - useNow(250)) / 1000);
  return left > 0 ? (
    <span class={left <= 5 ? "countdown soon" : "countdown"} aria-hidden="true">
      {left} s
    </span>
  ) : null;
}

/** Returns the start of a post, on one line. */
export function excerpt(post: Post): string {
  const text = post.by === "member" ? post.text : plainText(post.message.text);
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > EXCERPT_CHARACTERS ? `${line.slice(0, EXCERPT_CHARACTERS)}…` : line;
}
