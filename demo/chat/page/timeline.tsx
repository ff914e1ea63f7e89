import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Member, Post } from "../shapes";
import type { ChatClient } from "./chat-client";
import { Icon } from "./marks";
import { MemberPost, MessagePost } from "./post-view";

/** Maximum distance from the end of the timeline, in pixels, at which new posts scroll into view. */
const NEAR_PX = 120;

export interface TimelineProps {
  readonly posts: readonly Post[];
  readonly me: Member;
  readonly client: ChatClient;
  onReply(post: number): void;
}

/**
 * The posts of a conversation. While the end of the timeline is in view, new posts scroll
 * into view. Otherwise, a button jumps to the latest change.
 */
export function Timeline({ posts, me, client, onReply }: TimelineProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const before = useRef(posts);
  /** The latest change, if it is out of view. */
  const [jump, setJump] = useState<{ readonly id: number; readonly isAbove: boolean } | undefined>(undefined);

  function toEnd(): void {
    if (follows.current) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }
  function articleOf(id: number): HTMLElement | null {
    return scroller.current?.querySelector<HTMLElement>(`#post-${id}`) ?? null;
  }

  useLayoutEffect(() => {
    toEnd();
    const changed = posts.findLast((post) => !before.current.includes(post));
    before.current = posts;
    const bounds = scroller.current?.getBoundingClientRect();
    const at = changed && articleOf(changed.id)?.getBoundingClientRect();
    if (changed === undefined || bounds === undefined || at === undefined) return;
    const isAbove = at.bottom <= bounds.top + NEAR_PX / 2;
    setJump(isAbove || at.top >= bounds.bottom ? { id: changed.id, isAbove } : undefined);
  });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // The timeline's end moves when a picture loads and when the window is resized.
    const sizes = new ResizeObserver(toEnd);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    return () => sizes.disconnect();
  }, []);

  function onScroll(): void {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (follows.current && jump?.isAbove === false) setJump(undefined);
  }

  return (
    <div class="timeline-frame">
      {/* The timeline is focusable, so that the keyboard can scroll it. */}
      <div class="timeline" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-label="Messages">
        <ol>
          {posts.length === 0 && <li class="empty">No messages yet. Start a game, or write something.</li>}
          {posts.map((post) =>
            post.by === "member" ? (
              <MemberPost
                key={post.id}
                post={post}
                isMine={post.author.id === me.id}
                replied={posts.find(({ id }) => id === post.replyTo)}
              />
            ) : (
              <MessagePost key={post.id} post={post} client={client} onReply={onReply} />
            ),
          )}
        </ol>
      </div>
      {jump !== undefined && (
        <button
          type="button"
          class="button jump"
          onClick={() => {
            articleOf(jump.id)?.scrollIntoView({ block: "center" });
            articleOf(jump.id)?.focus({ preventScroll: true });
            setJump(undefined);
          }}
        >
          <Icon name={jump.isAbove ? "up" : "down"} />{" "}
          {jump.isAbove ? "A message changed above" : "New messages"}
        </button>
      )}
    </div>
  );
}
