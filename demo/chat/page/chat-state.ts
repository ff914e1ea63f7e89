import type { Channel, Exchange, LinkState, Member, Post, StreamEvent } from "../shapes";

/** Everything that one member sees. Immutable; `applyEvent` returns the next state. */
export interface ChatState {
  readonly me: Member;
  readonly channels: readonly Channel[];
  /** Oldest first. */
  readonly posts: readonly Post[];
  readonly link: LinkState;
  /** Newest first. */
  readonly exchanges: readonly Exchange[];
  /** Whether the stream is open. */
  readonly isLive: boolean;
  /** Whether events expired before the bridge fetched them, and the member has not dismissed the notice. */
  readonly hasMissed: boolean;
}

const POSTS_MAX = 900;
const EXCHANGES_MAX = 100;

/** Returns the state after an event; undefined before the first `welcome` event. */
export function applyEvent(state: ChatState | undefined, event: StreamEvent): ChatState | undefined {
  if (event.type === "welcome") {
    const { type: _, ...seen } = event;
    return { ...seen, isLive: true, hasMissed: false };
  }
  if (state === undefined) return undefined;
  switch (event.type) {
    case "post":
      return { ...state, posts: withPost(state.posts, event.post) };
    case "link":
      return { ...state, link: event.link };
    case "exchange": {
      const others = state.exchanges.filter(({ id }) => id !== event.exchange.id);
      return { ...state, exchanges: [event.exchange, ...others].slice(0, EXCHANGES_MAX) };
    }
    case "missed":
      return { ...state, hasMissed: true };
  }
}

function withPost(posts: readonly Post[], post: Post): readonly Post[] {
  const at = posts.findLastIndex(({ id }) => id <= post.id);
  if (posts[at]?.id === post.id) return posts.with(at, post);
  return posts.toSpliced(at + 1, 0, post).slice(-POSTS_MAX);
}

/** Returns the number of posts in a conversation after the post `seen`, without the member's own posts. */
export function unreadIn({ posts, me }: ChatState, conversation: string, seen: number): number {
  return posts.filter(
    (post) =>
      post.conversation === conversation &&
      post.id > seen &&
      !(post.by === "member" && post.author.id === me.id),
  ).length;
}
