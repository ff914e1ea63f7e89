import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Member, Note, Post } from "../shapes";
import type { ChatClient } from "./chat-client";
import { Icon } from "./marks";
import { MemberPost } from "./member-post";
import { MessagePost } from "./message-post";

/** Maximum distance from the end of the timeline, in pixels, at which new posts scroll into view. */
const NEAR_PX = 120;

export interface TimelineProps {
  readonly posts: readonly Post[];
  readonly me: Member;
  readonly notes: ReadonlyMap<number, Note>;
  readonly client: ChatClient;
  /** Text that is shown if there are no posts. */
  readonly hint: string;
}

/**
 * The posts of a conversation. While the end of the timeline is in view, new posts scroll into view. Otherwise, a
 * button jumps to the new posts. The member's own posts and the end of a game always scroll into view.
 */
export function Timeline({ posts, me, notes, client, hint }: TimelineProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const newest = posts.at(-1);
  const before = useRef(newest);
  const [hasNew, setHasNew] = useState(false);

  function toEnd(): void {
    if (follows.current) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }

  useLayoutEffect(() => {
    const isNew = newest !== undefined && newest.place !== before.current?.place;
    before.current = newest;
    if (isNew && (isBy(me, newest) || isEndOfGame(newest))) follows.current = true;
    toEnd();
    if (isNew && !follows.current) setHasNew(true);
  }, [posts]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // The timeline's end moves when a picture loads and when the window or the live card changes its size.
    const sizes = new ResizeObserver(toEnd);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    return () => sizes.disconnect();
  }, []);

  function onScroll(): void {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (follows.current) setHasNew(false);
  }

  return (
    <>
      {/* The timeline is focusable, so that the keyboard can scroll it. */}
      <div class="timeline" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-label="Messages">
        <ol>
          {posts.length === 0 && hint !== "" && <li class="empty">{hint}</li>}
          {posts.map((post) =>
            post.by === "member" ? (
              <MemberPost key={post.id} post={post} isMine={isBy(me, post)} />
            ) : (
              <MessagePost key={post.id} post={post} me={me} note={notes.get(post.id)} client={client} />
            ),
          )}
        </ol>
      </div>
      {hasNew && (
        <button
          type="button"
          class="jump"
          onClick={() => {
            follows.current = true;
            toEnd();
            setHasNew(false);
          }}
        >
          <Icon name="down" /> New messages
        </button>
      )}
    </>
  );
}

const isBy = ({ id }: Member, post: Post): boolean => post.by === "member" && post.author.id === id;
const isEndOfGame = (post: Post): boolean => post.by === "service" && post.message.kind === "game_end";
