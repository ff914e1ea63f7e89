import type { TypedPost } from "../shapes";
import { Avatar } from "./marks";
import { lookOf, PostHead, timeOf } from "./post-head";
import { RichText } from "./rich-text";

export interface MemberPostProps {
  readonly post: TypedPost;
  readonly isMine: boolean;
}

/** A post that a member typed. */
export function MemberPost({ post, isMine }: MemberPostProps) {
  const { author, text, isCommand, report } = post;
  return (
    <li class={lookOf(post)}>
      <Avatar {...author} />
      <article id={`post-${post.id}`} aria-label={`${author.name}, ${timeOf(post.at)}`}>
        <PostHead name={author.name} post={post} />
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
