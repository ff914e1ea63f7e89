import { LRUCache } from "lru-cache";
import type { MemberIdentity } from "../state/members";

export interface SilenceHintsOptions {
  /** Returns why the bridge cannot write in a channel; undefined if it can. */
  silenceOf(channel: string): string | undefined;
  /** Returns the hint about a channel. */
  text(channel: string): string;
  hint(member: MemberIdentity, text: string): void;
}

const CHANNELS_MAX = 1_000;
const MEMBERS_MAX = 1_000;
/** Milliseconds for which a member who has typed a command or a choice expects an answer. */
const WAITS_MS = 60_000;
/** Minimum milliseconds between two hints to a member. */
const HINT_GAP_MS = 30_000;

/** Tells members who type a command or a choice in a channel that the bridge cannot answer there. */
export class SilenceHints {
  readonly #options: SilenceHintsOptions;
  /** The last member who typed a command or a choice in each channel. */
  readonly #waiting = new LRUCache<string, MemberIdentity>({ max: CHANNELS_MAX, ttl: WAITS_MS });
  readonly #hinted = new LRUCache<string, true>({ max: MEMBERS_MAX, ttl: HINT_GAP_MS });

  constructor(options: SilenceHintsOptions) {
    this.#options = options;
  }

  /** Called when a member has typed a command or a choice. */
  typed(member: MemberIdentity, channel: string): void {
    this.#waiting.set(channel, member);
    if (this.#options.silenceOf(channel) !== undefined) this.#tell(member, channel);
  }

  /** Called when the server begins to refuse lines to a channel. */
  silenced(channel: string): void {
    const member = this.#waiting.get(channel);
    if (member !== undefined) this.#tell(member, channel);
  }

  #tell(member: MemberIdentity, channel: string): void {
    if (this.#hinted.has(member.id)) return;
    this.#hinted.set(member.id, true);
    this.#options.hint(member, this.#options.text(channel));
  }
}
