import type { Channel, Exchange, LinkState, Member, Note, Post, StreamEvent } from "../shapes";

/** Everything that one member sees. Immutable; `applyEvent` returns the next state. */
export interface ChatState {
  readonly me: Member;
  readonly channels: readonly Channel[];
  /** Oldest first. */
  readonly posts: readonly Post[];
  /** The member's newest note on each post, by the post's id. */
  readonly notes: ReadonlyMap<number, Note>;
  readonly link: LinkState;
  /** URL of the workspace's page in the dashboard; null if DASHBOARD_URL is not set. */
  readonly dashboard: string | null;
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
    const { type: _, notes: told, ...seen } = event;
    const notes = new Map(told.map((note) => [note.about, note]));
    return { ...seen, notes, isLive: true, hasMissed: false };
  }
  if (state === undefined) return undefined;
  switch (event.type) {
    case "post":
      return { ...state, posts: withPost(state.posts, event.post) };
    case "note":
      return { ...state, notes: withNote(state, event.note) };
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

/** Adds a post at its place, or replaces the earlier version of the post. */
function withPost(posts: readonly Post[], post: Post): readonly Post[] {
  const others = posts.filter(({ id }) => id !== post.id);
  const at = others.findLastIndex(({ place }) => place < post.place);
  return others.toSpliced(at + 1, 0, post).slice(-POSTS_MAX);
}

/** Returns the notes plus `note`, without the notes on posts that the page no longer has. */
function withNote({ notes, posts }: ChatState, note: Note): ReadonlyMap<number, Note> {
  const kept = [...notes].filter(([about]) => posts.some(({ id }) => id === about));
  return new Map([...kept, [note.about, note]]);
}

/** Returns the number of posts after the place `seen` in a conversation, not counting the member's own posts. */
export function unreadIn({ posts, me }: ChatState, conversation: string, seen: number): number {
  return posts.filter(
    (post) =>
      post.conversation === conversation &&
      post.place > seen &&
      !(post.by === "member" && post.author.id === me.id),
  ).length;
}
