import { randomBytes } from "node:crypto";
import { DM_PREFIX } from "../../../bridge/contract";
import type { Message } from "../../../bridge/events";
import { dmChannel } from "../../../bridge/inbound-event";
import {
  NAME_MAX,
  type Channel,
  type Member,
  type Post,
  type Report,
  type StreamEvent,
  type TypedPost,
} from "../shapes";

export type Room = ReturnType<typeof createRoom>;

const MEMBERS_MAX = 500;
/** Most posts of one conversation. */
const POSTS_MAX = 300;

/**
 * The chat tool itself: members and posts, in memory only. It does not depend
 * on the service. `tell` is called with each change of a post.
 */
export function createRoom(channels: readonly Channel[], tell: (event: StreamEvent) => void) {
  /** By the key that authenticates the member, in the order of joining. */
  const members = new Map<string, Member>();
  /** By id, oldest first. */
  const posts = new Map<number, Post>();
  let lastId = 0;

  const head = (conversation: string, onlyFor: string | null) =>
    ({ id: ++lastId, at: new Date().toISOString(), conversation, onlyFor }) as const;

  /** Shows a post, or replaces it. */
  function put(post: Post): void {
    posts.set(post.id, post);
    tell({ type: "post", post });
  }

  /** Shows a new post, unless its conversation is unknown. Removes the oldest post of a full conversation. */
  function add(post: Post): void {
    const dms = [...members.values()].map(({ id }) => dmChannel(id));
    if (![...channels.map(({ id }) => id), ...dms].includes(post.conversation)) return;
    const older = [...posts.values()].filter(({ conversation }) => conversation === post.conversation);
    const [oldest] = older;
    if (oldest !== undefined && older.length >= POSTS_MAX) posts.delete(oldest.id);
    put(post);
  }

  /** Removes the member who joined first, with their direct conversation. */
  function removeOldestMember(): void {
    const [oldest] = members;
    if (oldest === undefined) return;
    const [key, { id }] = oldest;
    members.delete(key);
    for (const post of posts.values()) if (post.conversation === dmChannel(id)) posts.delete(post.id);
  }

  return {
    channels,

    /** Adds a member; the key authenticates them. In a full chat they replace the member who joined first. */
    join(name: string): { readonly member: Member; readonly key: string } {
      if (members.size >= MEMBERS_MAX) removeOldestMember();
      const id = `u-${randomBytes(6).toString("hex")}`;
      const member = { id, name: [...name].slice(0, NAME_MAX).join("") };
      const key = randomBytes(24).toString("base64url");
      members.set(key, member);
      return { member, key };
    },

    memberOf: (key: string): Member | undefined => members.get(key),

    /** Whether the conversation exists and this member may use it. */
    isOpenTo: (memberId: string, conversation: string): boolean =>
      conversation === dmChannel(memberId) || channels.some(({ id }) => id === conversation),

    post: (postId: number): Post | undefined => posts.get(postId),

    /** The posts that a member may see, oldest first. */
    postsFor: (memberId: string): readonly Post[] =>
      [...posts.values()].filter((post) => isSeenBy(memberId, post)),

    /** All posts, also those that only one member sees, oldest first. */
    allPosts: (): readonly Post[] => [...posts.values()],

    /** Shows what a member typed. Only its author sees a command. */
    say(said: Pick<TypedPost, "author" | "conversation" | "text" | "isCommand" | "replyTo">): TypedPost {
      const { conversation, author, isCommand } = said;
      const from = head(conversation, isCommand ? author.id : null);
      const post: TypedPost = { by: "member", ...from, ...said, report: { is: "sending" } };
      add(post);
      return post;
    },

    setReport(postId: number, report: Report): void {
      const post = posts.get(postId);
      if (post?.by === "member") put({ ...post, report });
    },

    /** Shows a message of the service; returns the id of its post. */
    show(conversation: string, message: Message, onlyFor: string | null = null): number {
      const post: Post = { by: "service", ...head(conversation, onlyFor), message, edits: 0 };
      add(post);
      return post.id;
    },

    /** Replaces a message of the service in place, unless it is no longer shown. */
    edit(postId: number, message: Message): void {
      const post = posts.get(postId);
      if (post?.by === "service") put({ ...post, message, edits: post.edits + 1 });
    },
  };
}

/** Whether a member may see a post. Posts for another member, and other direct conversations, are hidden. */
export function isSeenBy(memberId: string, { conversation, onlyFor }: Post): boolean {
  if (onlyFor !== null && onlyFor !== memberId) return false;
  return !conversation.startsWith(DM_PREFIX) || conversation === dmChannel(memberId);
}
