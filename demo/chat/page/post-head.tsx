import type { ComponentChildren } from "preact";
import type { Post } from "../shapes";
import { Icon } from "./marks";

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

export const timeOf = (iso: string): string => TIME.format(new Date(iso));
export const lookOf = ({ onlyFor }: Post): string => (onlyFor === null ? "post" : "post whispered");

export interface PostHeadProps {
  readonly name: string;
  readonly post: Post;
  readonly children?: ComponentChildren;
}

/** The line above a post: its author and time, and whether only this member sees the post. */
export function PostHead({ name, post, children }: PostHeadProps) {
  const isEdited = post.by === "service" && post.edits > 0;
  return (
    <p class="head">
      <strong>{name}</strong>
      {children}
      <time dateTime={post.at} title={isEdited ? `Edited at ${timeOf(post.changedAt)}` : undefined}>
        {timeOf(post.at)}
      </time>
      {post.onlyFor !== null && (
        <span class="only-you">
          <Icon name="eye" /> only you see this
        </span>
      )}
    </p>
  );
}
