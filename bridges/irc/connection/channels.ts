import type { ServerLine } from "irc-framework";
import type { Logger } from "chat-bridge-runner";
import { Channel } from "./channel";
import { isChannelName, type WantedChannel } from "./channel-list";
import type { IrcSession } from "./irc-connection";
import type { Outbox } from "./outbox";
import type { Readiness } from "./post-queue";

export interface ChannelsOptions {
  /** The channels in the settings. */
  readonly wanted: readonly WantedChannel[];
  /** The channels of earlier invitations. A channel that is also in the settings is joined with its key. */
  readonly invitedBefore: readonly WantedChannel[];
  /** Returns whether the bridge accepts an invitation by this member. */
  mayInvite(nick: string): boolean;
  readonly log: Logger;
  readonly outbox: Pick<Outbox, "control" | "wake">;
  /** Saves the names of all channels that the bridge was invited to. */
  saveInvited(names: readonly string[]): void;
}

/** When the bridge has this many channels, it accepts no invitations to new channels. */
const CHANNELS_MAX = 100;
const CHANNELS_ARE_MAX =
  `the bridge already has ${CHANNELS_MAX} channels, the maximum; stop the bridge, and remove channels from ` +
  "IRC_CHANNELS, or from channels.json in STATE_FOLDER";
/** Numeric replies that reject a `JOIN`. The second parameter is the channel. */
const REJECTIONS = new Set("403 405 437 471 473 474 475 476 477 480 489 520".split(" "));

/** The channels of the bridge: those in the settings, and those that it was invited to. */
export class Channels {
  readonly #options: ChannelsOptions;
  /** Keyed by the channel's name in lower case. */
  #channels = new Map<string, Channel>();
  #lower = (name: string): string => name.toLowerCase();

  constructor(options: ChannelsOptions) {
    this.#options = options;
    for (const each of options.invitedBefore) this.#add(each, true);
    // A channel in the settings replaces the same channel from an invitation.
    for (const each of options.wanted) this.#add(each, false);
  }

  /** The number of joined channels, and the number of all channels. */
  get counts(): { readonly joined: number; readonly wanted: number } {
    const joined = [...this.#channels.values()].filter(({ isJoined }) => isJoined).length;
    return { joined, wanted: this.#channels.size };
  }

  /** Returns the name of a channel as configured; undefined for a channel that the bridge is not in. */
  nameOf(id: string): string | undefined {
    const channel = this.#channels.get(id);
    return channel?.isJoined ? channel.wanted.name : undefined;
  }

  readiness(id: string): Readiness {
    const channel = this.#channels.get(id);
    return channel?.readiness() ?? { never: "the bridge is not configured to join the channel" };
  }

  /** Called for each connection. Joins all channels. */
  up({ client, lower, isOwn }: IrcSession): void {
    // The server has now announced its case mapping.
    this.#lower = lower;
    this.#channels = new Map([...this.#channels.values()].map((each) => [lower(each.wanted.name), each]));
    for (const each of this.#channels.values()) each.join();
    client
      .on("join", ({ nick, channel }) => isOwn(nick) && this.#get(channel)?.accepted())
      .on("kick", ({ kicked, channel }) => isOwn(kicked) && this.#get(channel)?.removed("kick"))
      .on("part", ({ nick, channel }) => isOwn(nick) && this.#get(channel)?.removed("part"))
      .on("invite", ({ nick, invited, channel }) => isOwn(invited) && this.#invited(nick, channel));
  }

  /** Called when the connection is lost. */
  down(): void {
    for (const channel of this.#channels.values()) channel.disconnected();
  }

  onLine({ command, params }: ServerLine): void {
    if (REJECTIONS.has(command)) this.#get(params[1] ?? "")?.rejected(params.at(-1) ?? command);
  }

  #get(name: string): Channel | undefined {
    return this.#channels.get(this.#lower(name));
  }

  #add(wanted: WantedChannel, isInvited: boolean): Channel {
    const channel = new Channel(wanted, isInvited, this.#options);
    this.#channels.set(this.#lower(wanted.name), channel);
    return channel;
  }

  #invited(nick: string, name: string): void {
    const { log, mayInvite, saveInvited } = this.#options;
    const known = this.#get(name);
    if (known?.isJoined || !isChannelName(name)) return;
    if (known === undefined && !mayInvite(nick)) {
      log.warn({ channel: name }, "ignored an invitation: IRC_ALLOW_INVITES does not allow it");
      return;
    }
    if (known === undefined && this.#channels.size >= CHANNELS_MAX) {
      log.warn({ channel: name }, `ignored an invitation: ${CHANNELS_ARE_MAX}`);
      return;
    }
    const channel = known ?? this.#add({ name, key: undefined }, true);
    if (known === undefined) {
      const invited = [...this.#channels.values()].filter(({ isInvited }) => isInvited);
      saveInvited(invited.map(({ wanted }) => wanted.name));
    }
    channel.joinInvited();
  }
}
