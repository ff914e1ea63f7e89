import { randomUUID } from "node:crypto";
import type { Channels } from "../connection/channels";
import type { Outbox } from "../connection/outbox";
import type { MemberIdentity } from "../state/members";
import { noticePrefix } from "../text/notice-prefix";

export interface HintsOptions {
  readonly outbox: Pick<Outbox, "hint">;
  readonly channels: Pick<Channels, "nameOf">;
  /** Returns a name in the server's lower case. */
  lower(name: string): string;
  /** The current nick of the bridge. */
  ownNick(): string;
}

const HINT_EXPIRES_MS = 30_000;

/** Sends the bridge's own notices, each to one member. */
export class Hints {
  readonly #options: HintsOptions;

  constructor(options: HintsOptions) {
    this.#options = options;
  }

  /** Sends a hint that only the member sees. `channel` is the id of the channel that the hint is about. */
  send({ name }: MemberIdentity, text: string, channel = ""): void {
    const { outbox, channels, lower } = this.#options;
    const about = channels.nameOf(channel);
    outbox.hint({
      id: `hint-${randomUUID()}`,
      command: "NOTICE",
      target: lower(name),
      lines: [about === undefined ? text : `${noticePrefix(about)}${text}`],
      expiresAtMs: Date.now() + HINT_EXPIRES_MS,
    });
  }

  /** Returns the hint for a channel in which the bridge cannot write. */
  silence(channel: string): string {
    const { channels, ownNick } = this.#options;
    const name = channels.nameOf(channel) ?? channel;
    return `The bridge cannot write in ${name}: an operator must give it voice (/mode ${name} +v ${ownNick()}).`;
  }
}
