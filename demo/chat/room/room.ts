import { randomBytes } from "node:crypto";
import type { Message } from "../../../bridge/events";
import { dmChannel } from "../../../bridge/inbound-event";
import { NAME_MAX, type Channel, type Member, type Post, type Report, type TypedPost } from "../shapes";

/** The chat tool itself: members and posts, in memory only. It does not depend on the service. */
export interface Room {
  readonly channels: readonly Channel[];
  /**
   * Adds a member; the key authenticates them. A full chat first removes the member who has been away the longest,
   * with their direct conversation. Returns undefined when the chat is full and nobody is away.
   */
  join(name: string): { readonly member: Member; readonly key: string } | undefined;
  memberOf(key: string): Member | undefined;
  /** Whether the conversation exists and this member may use it. */
  isOpenTo(memberId: string, conversation: string): boolean;
  post(postId: number): Post | undefined;
  /** The posts that a member may see, oldest first. */
  postsFor(memberId: string): readonly Post[];
  /** All posts, also those that only one member sees, oldest first. */
  allPosts(): readonly Post[];
  say(said: Pick<TypedPost, "author" | "conversation" | "text" | "isCommand" | "replyTo">): TypedPost;
  setReport(postId: number, report: Report): void;
  /** Shows a message of the service; returns the id of its post. */
  show(conversation: string, message: Message, onlyFor?: string): number;
  /** Replaces a message of the service in place. */
  edit(postId: number, message: Message): void;
  /** The members who have the page open. */
  here(): readonly Member[];
  /** Records that a member opened the page; returns a function that records that they closed it. */
  enter(member: Member): () => void;
  /** Calls `look` with each change; returns a function that stops it. */
  watch(look: (change: RoomChange) => void): () => void;
}

export type RoomChange = { readonly type: "post"; readonly post: Post } | { readonly type: "members" };

const MEMBERS_MAX = 500;
const POSTS_MAX = 300;

export function createRoom(channels: readonly Channel[]): Room {
  const members = new Map<string, Member>();
  const posts = new Map<number, Post>();
  const byConversation = new Map<string, number[]>(channels.map(({ id }) => [id, []]));
  /** The keys of members, by their ids. */
  const keys = new Map<string, string>();
  /** Ids of members who do not have the page open, longest away first. */
  const away = new Set<string>();
  const visits = new Map<string, number>();
  const watching = new Set<(change: RoomChange) => void>();
  let lastId = 0;

  function tell(change: RoomChange): void {
    for (const look of watching) look(change);
  }

  function put(post: Post): void {
    const ids = byConversation.get(post.conversation);
    if (ids === undefined) return;
    if (!posts.has(post.id)) ids.push(post.id);
    posts.set(post.id, post);
    for (const old of ids.splice(0, Math.max(0, ids.length - POSTS_MAX))) posts.delete(old);
    tell({ type: "post", post });
  }

  function forgetLongestAway(): void {
    const [id] = away;
    if (id === undefined) return;
    const conversation = dmChannel(id);
    away.delete(id);
    members.delete(keys.get(id) ?? "");
    keys.delete(id);
    for (const postId of byConversation.get(conversation) ?? []) posts.delete(postId);
    byConversation.delete(conversation);
  }

  const head = (conversation: string, onlyFor: string | null) =>
    ({ id: ++lastId, at: new Date().toISOString(), conversation, onlyFor }) as const;

  return {
    channels,
    join(name) {
      if (members.size >= MEMBERS_MAX) forgetLongestAway();
      if (members.size >= MEMBERS_MAX) return undefined;
      const key = randomBytes(24).toString("base64url");
      const member = {
        id: `u-${randomBytes(6).toString("hex")}`,
        name: [...name].slice(0, NAME_MAX).join(""),
      };
      members.set(key, member);
      keys.set(member.id, key);
      away.add(member.id);
      byConversation.set(dmChannel(member.id), []);
      return { member, key };
    },
    memberOf: (key) => members.get(key),
    isOpenTo: (memberId, conversation) =>
      conversation === dmChannel(memberId) || channels.some(({ id }) => id === conversation),
    post: (postId) => posts.get(postId),
    postsFor: (memberId) =>
      [...posts.values()].filter((post) => isSeenBy(memberId, post)).toSorted((a, b) => a.id - b.id),
    // An edit keeps a post's place in the map, so the posts are in the order of their ids.
    allPosts: () => [...posts.values()],
    say({ author, conversation, ...said }) {
      const post: TypedPost = {
        ...head(conversation, said.isCommand ? author.id : null),
        ...said,
        by: "member",
        author,
        report: { is: "sending" },
      };
      put(post);
      return post;
    },
    setReport(postId, report) {
      const post = posts.get(postId);
      if (post?.by === "member") put({ ...post, report });
    },
    show(conversation, message, onlyFor) {
      const post: Post = { ...head(conversation, onlyFor ?? null), by: "service", message, edits: 0 };
      put(post);
      return post.id;
    },
    edit(postId, message) {
      const post = posts.get(postId);
      // A post that the bound removed is no longer shown, so its edit is ignored.
      if (post?.by === "service") put({ ...post, message, edits: post.edits + 1 });
    },
    here: () => [...members.values()].filter(({ id }) => visits.has(id)),
    enter({ id }) {
      visits.set(id, (visits.get(id) ?? 0) + 1);
      away.delete(id);
      tell({ type: "members" });
      return () => {
        const left = (visits.get(id) ?? 1) - 1;
        if (left > 0) {
          visits.set(id, left);
        } else {
          visits.delete(id);
          away.add(id);
        }
        tell({ type: "members" });
      };
    },
    watch(look) {
      watching.add(look);
      return () => watching.delete(look);
    },
  };
}

/** Whether a member may see a post. Posts for another member, and other direct conversations, are hidden. */
export function isSeenBy(memberId: string, { conversation, onlyFor }: Post): boolean {
  if (onlyFor !== null && onlyFor !== memberId) return false;
  return !conversation.startsWith(DM_PREFIX) || conversation === dmChannel(memberId);
}

const DM_PREFIX = dmChannel("");
