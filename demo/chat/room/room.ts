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
  /** Shows a message of the service; returns the id of its post. A message for an unknown conversation is not shown. */
  show(conversation: string, message: Message, onlyFor?: string): number;
  /** Replaces a message of the service in place. */
  edit(postId: number, message: Message): void;
  /** The members who have the page open. */
  here(): readonly Member[];
  /** Records that a member opened the page; returns a function that records that they closed it. */
  enter(member: Member): () => void;
}

interface Seat {
  readonly member: Member;
  readonly key: string;
  /** Number of pages that the member has open. */
  pages: number;
}

const MEMBERS_MAX = 500;
/** Most posts of one conversation. */
const POSTS_MAX = 300;

/** `tell` is called with each change of the posts and of the members who are here. */
export function createRoom(channels: readonly Channel[], tell: (event: StreamEvent) => void): Room {
  /** By member's id. Of the members who are away, the longest away is first. */
  const seats = new Map<string, Seat>();
  /** By id, oldest first. */
  const posts = new Map<number, Post>();
  let lastId = 0;

  const here = (): readonly Member[] =>
    [...seats.values()].filter(({ pages }) => pages > 0).map(({ member }) => member);

  function put(post: Post): void {
    posts.set(post.id, post);
    tell({ type: "post", post });
  }

  function add(post: Post): void {
    const { conversation } = post;
    const isKnown = [...channels.map(({ id }) => id), ...[...seats.keys()].map(dmChannel)].includes(
      conversation,
    );
    if (!isKnown) return;
    const older = [...posts.values()].filter((each) => each.conversation === conversation);
    for (const { id } of older.slice(0, Math.max(0, older.length - POSTS_MAX + 1))) posts.delete(id);
    put(post);
  }

  function removeLongestAway(): void {
    const longestAway = [...seats.values()].find(({ pages }) => pages === 0);
    if (longestAway === undefined) return;
    const { id } = longestAway.member;
    seats.delete(id);
    for (const post of posts.values()) if (post.conversation === dmChannel(id)) posts.delete(post.id);
  }

  const head = (conversation: string, onlyFor: string | null) =>
    ({ id: ++lastId, at: new Date().toISOString(), conversation, onlyFor }) as const;

  return {
    channels,
    join(name) {
      if (seats.size >= MEMBERS_MAX) removeLongestAway();
      if (seats.size >= MEMBERS_MAX) return undefined;
      const member = {
        id: `u-${randomBytes(6).toString("hex")}`,
        name: [...name].slice(0, NAME_MAX).join(""),
      };
      const key = randomBytes(24).toString("base64url");
      seats.set(member.id, { member, key, pages: 0 });
      return { member, key };
    },
    memberOf: (key) => [...seats.values()].find((seat) => seat.key === key)?.member,
    isOpenTo: (memberId, conversation) =>
      conversation === dmChannel(memberId) || channels.some(({ id }) => id === conversation),
    post: (postId) => posts.get(postId),
    postsFor: (memberId) => [...posts.values()].filter((post) => isSeenBy(memberId, post)),
    allPosts: () => [...posts.values()],
    say({ author, conversation, ...said }) {
      const post: TypedPost = {
        ...head(conversation, said.isCommand ? author.id : null),
        ...said,
        by: "member",
        author,
        report: { is: "sending" },
      };
      add(post);
      return post;
    },
    setReport(postId, report) {
      const post = posts.get(postId);
      if (post?.by === "member") put({ ...post, report });
    },
    show(conversation, message, onlyFor) {
      const post: Post = { ...head(conversation, onlyFor ?? null), by: "service", message, edits: 0 };
      add(post);
      return post.id;
    },
    edit(postId, message) {
      const post = posts.get(postId);
      // A post that the bound removed is no longer shown, so its edit is ignored.
      if (post?.by === "service") put({ ...post, message, edits: post.edits + 1 });
    },
    here,
    enter({ id }) {
      const seat = seats.get(id);
      if (seat === undefined) return () => undefined;
      seat.pages++;
      tell({ type: "members", members: here() });
      return () => {
        seat.pages--;
        if (seat.pages === 0) {
          seats.delete(id);
          seats.set(id, seat);
        }
        tell({ type: "members", members: here() });
      };
    },
  };
}

/** Whether a member may see a post. Posts for another member, and other direct conversations, are hidden. */
export function isSeenBy(memberId: string, { conversation, onlyFor }: Post): boolean {
  if (onlyFor !== null && onlyFor !== memberId) return false;
  return !conversation.startsWith(DM_PREFIX) || conversation === dmChannel(memberId);
}
