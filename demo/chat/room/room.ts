import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { DM_PREFIX } from "../../../contract/forms";
import { PHASE_KINDS } from "../../../contract/messages";
import type { Message } from "../../../kit/events";
import { dmChannel } from "../../../kit/inbound-event";
import {
  NAME_MAX,
  type Channel,
  type Member,
  type Note,
  type Post,
  type Report,
  type StreamEvent,
  type TypedPost,
} from "../shapes";

const MEMBERS_MAX = 500;
/** Maximum number of posts in a conversation. */
const POSTS_MAX = 300;
/** Maximum number of notes. When the maximum is reached, each new note replaces the oldest note. */
const NOTES_MAX = 2_000;

/**
 * The chat tool itself: its members and posts, kept only in memory. The room does not depend on the service.
 */
export class Room {
  readonly channels: readonly Channel[];
  readonly #tell: (event: StreamEvent) => void;
  /** Members by key, in the order in which they joined. A key authenticates a member. */
  readonly #members = new Map<string, Member>();
  /** Posts by id, in the order of their places. */
  readonly #posts = new Map<number, Post>();
  /** Notes by post and member. */
  readonly #notes = new LRUCache<string, Note>({ max: NOTES_MAX });
  #lastPlace = 0;

  /** @param tell called with each new or changed post */
  constructor(channels: readonly Channel[], tell: (event: StreamEvent) => void) {
    this.channels = channels;
    this.#tell = tell;
  }

  /** Adds a member and returns the member's key. If the chat is full, the member who joined first is removed. */
  join(name: string): { readonly member: Member; readonly key: string } {
    if (this.#members.size >= MEMBERS_MAX) this.#removeOldestMember();
    const id = `u-${randomBytes(6).toString("hex")}`;
    const member = { id, name: [...name].slice(0, NAME_MAX).join("") };
    const key = randomBytes(24).toString("base64url");
    this.#members.set(key, member);
    return { member, key };
  }

  memberOf(key: string): Member | undefined {
    return this.#members.get(key);
  }

  /** Returns whether the conversation exists and this member can use it. */
  isOpenTo(memberId: string, conversation: string): boolean {
    return conversation === dmChannel(memberId) || this.channels.some(({ id }) => id === conversation);
  }

  post(postId: number): Post | undefined {
    return this.#posts.get(postId);
  }

  /** Returns the posts that a member can see, oldest first. */
  postsFor(memberId: string): readonly Post[] {
    return this.allPosts().filter((post) => isSeenBy(memberId, post));
  }

  /** Returns all posts, including posts for single members, oldest first. */
  allPosts(): readonly Post[] {
    return [...this.#posts.values()];
  }

  /** Returns a member's notes. */
  notesFor(memberId: string): readonly Note[] {
    return [...this.#notes.values()].filter(({ to }) => to === memberId);
  }

  /** Returns all notes with their posts. Notes on removed posts are left out. */
  allNotes(): readonly (readonly [Note, Post])[] {
    return [...this.#notes.values()].flatMap((note) => {
      const post = this.#posts.get(note.about);
      return post === undefined ? [] : [[note, post] as const];
    });
  }

  /** Shows text that a member typed. A command is shown only to its author. */
  say(said: Pick<TypedPost, "author" | "conversation" | "text" | "isCommand">): TypedPost {
    const { conversation, author, isCommand } = said;
    const head = this.#head(conversation, isCommand ? author.id : null);
    const post: TypedPost = { by: "member", ...head, ...said, report: { is: "sending" } };
    this.#add(post);
    return post;
  }

  setReport(postId: number, report: Report): void {
    const post = this.#posts.get(postId);
    if (post?.by === "member") this.#put({ ...post, report });
  }

  /** Shows a message from the service. Returns the id of the post. */
  show(conversation: string, message: Message, onlyFor: string | null = null): number {
    const head = this.#head(conversation, onlyFor);
    this.#add({ by: "service", ...head, message, edits: 0, changedAt: head.at });
    return head.id;
  }

  /**
   * Replaces a message from the service. An update that starts a phase of a game also moves the message to the end
   * of its conversation. Does nothing if the message is no longer shown.
   */
  edit(postId: number, message: Message): void {
    const post = this.#posts.get(postId);
    if (post?.by !== "service") return;
    const startsPhase = PHASE_KINDS.some((kind) => kind === message.kind);
    const place = startsPhase ? ++this.#lastPlace : post.place;
    this.#put({ ...post, place, message, edits: post.edits + 1, changedAt: new Date().toISOString() });
  }

  /**
   * Shows a message to one member as a note on the post of the message `aboutId`. Returns false if the conversation
   * has no such post.
   */
  note(conversation: string, aboutId: string, to: string, message: Message): boolean {
    const post = this.allPosts().findLast(
      (each) => each.by === "service" && each.message.id === aboutId && each.conversation === conversation,
    );
    if (post === undefined) return false;
    const note = { about: post.id, to, message };
    this.#notes.set(`${post.id} ${to}`, note);
    this.#tell({ type: "note", note });
    return true;
  }

  #head(conversation: string, onlyFor: string | null) {
    const place = ++this.#lastPlace;
    return { id: place, place, at: new Date().toISOString(), conversation, onlyFor } as const;
  }

  /** Shows a new post, unless its conversation is unknown. Removes the oldest post of a full conversation. */
  #add(post: Post): void {
    const dms = [...this.#members.values()].map(({ id }) => dmChannel(id));
    if (![...this.channels.map(({ id }) => id), ...dms].includes(post.conversation)) return;
    const older = this.allPosts().filter(({ conversation }) => conversation === post.conversation);
    const [oldest] = older;
    if (oldest !== undefined && older.length >= POSTS_MAX) this.#posts.delete(oldest.id);
    this.#put(post);
  }

  /** Shows a new post, or replaces the post with the same id. */
  #put(post: Post): void {
    if (this.#posts.get(post.id)?.place !== post.place) this.#posts.delete(post.id);
    this.#posts.set(post.id, post);
    this.#tell({ type: "post", post });
  }

  /** Removes the member who joined first, and the posts in the member's direct conversation. */
  #removeOldestMember(): void {
    const [oldest] = this.#members;
    if (oldest === undefined) return;
    const [key, { id }] = oldest;
    this.#members.delete(key);
    for (const post of this.allPosts()) {
      if (post.conversation === dmChannel(id)) this.#posts.delete(post.id);
    }
  }
}

/**
 * Returns whether a member can see a post. Posts for another member, and posts in
 * another member's direct conversation, are hidden.
 */
export function isSeenBy(memberId: string, { conversation, onlyFor }: Post): boolean {
  if (onlyFor !== null && onlyFor !== memberId) return false;
  return !conversation.startsWith(DM_PREFIX) || conversation === dmChannel(memberId);
}
