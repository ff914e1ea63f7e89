import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Post } from "../shapes";
import type { ChatClient } from "./chat-client";
import type { ChatState } from "./chat-state";
import { Icon } from "./icon";
import { MemberPost, MessagePost } from "./post-view";

/** Distance from the end of the timeline, in pixels, within which it follows new posts. */
const NEAR_PX = 120;

export interface TimelineProps {
  readonly posts: readonly Post[];
  readonly all: readonly Post[];
  readonly state: ChatState;
  readonly client: ChatClient;
  onReply(post: number): void;
}

/** The posts of a conversation. It follows new posts while scrolled to the end, else it offers to jump to them. */
export function Timeline({ posts, all, state, client, onReply }: TimelineProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const isNew = useRef(true);
  const [isBehind, setBehind] = useState(false);
  const [jump, setJump] = useState<number | undefined>(undefined);
  const newest = posts.at(-1)?.id;
  const edited = lastEdited(posts);

  function toEnd(): void {
    const element = scroller.current;
    element?.scrollTo({ top: element.scrollHeight });
  }
  function place(post: number): HTMLElement | null {
    return scroller.current?.querySelector<HTMLElement>(`#post-${post}`) ?? null;
  }

  useLayoutEffect(() => {
    if (follows.current) toEnd();
    else setBehind(true);
  }, [newest]);
  useLayoutEffect(() => {
    if (follows.current) toEnd();
    const wasNew = isNew.current;
    isNew.current = false;
    // Edits from before the conversation was opened are not announced.
    if (wasNew) return;
    const bounds = scroller.current?.getBoundingClientRect();
    const at = edited === undefined ? undefined : place(edited.id)?.getBoundingClientRect();
    if (bounds === undefined || at === undefined) return;
    const isSeen = at.bottom > bounds.top + NEAR_PX / 2 && at.top < bounds.bottom;
    setJump(isSeen ? undefined : edited?.id);
  }, [edited?.id, edited?.edits]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // Loaded pictures and a resized window move the end.
    const sizes = new ResizeObserver(() => follows.current && toEnd());
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    return () => sizes.disconnect();
  }, []);

  function onScroll(): void {
    const element = scroller.current;
    if (element === null) return;
    follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (follows.current) setBehind(false);
  }

  return (
    <div class="timeline-frame">
      {/* Focusable, so that the keyboard can scroll it. */}
      <div class="timeline" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-label="Messages">
        <ol>
          {posts.length === 0 && <li class="empty">No messages yet. Start a game, or write something.</li>}
          {posts.map((post, i) =>
            post.by === "member" ? (
              <MemberPost
                key={post.id}
                post={post}
                isMine={post.author.id === state.me.id}
                replied={all.find(({ id }) => id === post.replyTo)}
                isContinued={isContinued(posts[i - 1], post)}
              />
            ) : (
              <MessagePost key={post.id} post={post} client={client} onReply={onReply} />
            ),
          )}
        </ol>
      </div>
      <div class="jumps">
        {jump !== undefined && (
          <button
            type="button"
            class="button jump"
            onClick={() => {
              place(jump)?.scrollIntoView({ block: "center" });
              place(jump)?.focus({ preventScroll: true });
              setJump(undefined);
            }}
          >
            <Icon name="up" /> A message changed above
          </button>
        )}
        {isBehind && (
          <button type="button" class="button jump" onClick={toEnd}>
            <Icon name="down" /> New messages
          </button>
        )}
      </div>
    </div>
  );
}

/** The newest message of the service that was edited. */
function lastEdited(posts: readonly Post[]) {
  return posts.findLast((post) => post.by === "service" && post.edits > 0) as
    (Post & { readonly by: "service" }) | undefined;
}

const TOGETHER_MS = 3 * 60_000;

/** Whether a post continues the one before: same author, same visibility, no reply, within `TOGETHER_MS`. */
function isContinued(before: Post | undefined, post: Post & { readonly by: "member" }): boolean {
  return (
    before?.by === "member" &&
    before.author.id === post.author.id &&
    before.isCommand === post.isCommand &&
    post.replyTo === null &&
    Date.parse(post.at) - Date.parse(before.at) < TOGETHER_MS
  );
}
