import type { Mode, ServerLine } from "irc-framework";
import type { Logger, RoomState } from "chat-bridge-runner";
import { Channel } from "./channel";
import { isChannelName, type WantedChannel } from "./channel-list";
import type { IrcSession } from "./irc-connection";
import type { Outbox } from "./outbox";
import type { Readiness } from "./post-queue";

export interface ChannelsOptions {
  /** The channels in the settings. */
  readonly wanted: readonly WantedChannel[];
  /**
   * The channels of earlier invitations. If the settings also list a channel, the bridge joins it with the key in the
   * settings.
   */
  readonly invitedBefore: readonly WantedChannel[];
  /** Returns whether the bridge accepts an invitation by this member; a promise if the bridge must ask the server. */
  mayInvite(nick: string): boolean | Promise<boolean>;
  readonly log: Logger;
  readonly outbox: Pick<Outbox, "control" | "wake">;
  /** Saves the names of all channels that the bridge was invited to. */
  saveInvited(names: readonly string[]): void;
  /** Called when the server begins to refuse lines to a channel. */
  onSilent(id: string): void;
  /** Called when lines to a channel can be sent again. */
  onWritable(id: string): void;
  /** Called when the bridge leaves a channel for good. */
  onForgotten(id: string): void;
}

/** When the bridge has this many channels, it accepts no invitations to new channels. */
const CHANNELS_MAX = 100;
const CHANNELS_ARE_MAX =
  `the bridge already has ${CHANNELS_MAX} channels, the maximum; stop the bridge, and remove channels from ` +
  "IRC_CHANNELS, or from channels.json in STATE_FOLDER";
/** Numeric replies that reject a `JOIN`. The second parameter is the channel. */
export const JOIN_REJECTIONS = new Set("403 405 437 471 473 474 475 476 477 480 489 520".split(" "));
/** Rejections that end without an operator's help: the channel is unavailable, or too many users join at once. */
const REJECTIONS_FOR_NOW = new Set(["437", "480"]);
const BANNED = "474";
/** Modes that give a member voice, or a rank that includes voice. */
const RANKS = new Set(["+v", "+h", "+o", "+a", "+q"]);
/**
 * Number of consecutive failures after which the bridge forgets a channel of an invitation: about a day of attempts.
 */
const FORGET_AFTER_FAILURES = 300;
const KICK_TO_REMOVE =
  "removed from a channel of an invitation: the bridge returns only after another invitation";

/** The channels of the bridge: those in the settings, and those that it was invited to. */
export class Channels {
  readonly #options: ChannelsOptions;
  /** Keyed by the channel's name in lower case. */
  #channels = new Map<string, Channel>();
  #lower = (name: string): string => name.toLowerCase();
  #ownNick = (): string => "";

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

  /** The state of each channel. */
  get rooms(): readonly RoomState[] {
    return [...this.#channels].map(([id, { wanted, problem }]) => ({ id, name: wanted.name, problem }));
  }

  /** Returns why the server refuses lines to a channel; undefined if it does not. */
  silenceOf(id: string): string | undefined {
    return this.#channels.get(id)?.silence;
  }

  /** Returns the name of a channel as configured; undefined for a channel that the bridge is not in. */
  nameOf(id: string): string | undefined {
    const channel = this.#channels.get(id);
    return channel?.isJoined ? channel.wanted.name : undefined;
  }

  has(id: string): boolean {
    return this.#channels.has(id);
  }

  readiness(id: string): Readiness {
    const channel = this.#channels.get(id);
    return channel?.readiness() ?? { never: "the bridge is not configured to join the channel" };
  }

  /** Called for each connection. Joins all channels. */
  up({ client, lower, isOwn }: IrcSession): void {
    // The server has now announced its case mapping.
    this.#lower = lower;
    this.#ownNick = () => client.user.nick;
    this.#channels = new Map([...this.#channels.values()].map((each) => [lower(each.wanted.name), each]));
    for (const each of this.#channels.values()) each.join();
    client
      .on("join", ({ nick, channel }) => isOwn(nick) && this.#get(channel)?.accepted())
      .on("kick", ({ kicked, channel }) => isOwn(kicked) && this.#removed(channel, "kick"))
      .on("part", ({ nick, channel }) => isOwn(nick) && this.#removed(channel, "part"))
      .on("invite", ({ nick, invited, channel }) => isOwn(invited) && this.#invited(nick, channel))
      .on("mode", ({ target, modes }) => this.#get(target)?.modesChanged(isFreedBy(modes, isOwn)))
      .on("channel info", ({ channel, modes }) => {
        if (modes?.some(({ mode }) => mode === "+m")) this.#get(channel)?.isModerated();
      });
  }

  /** Called when the connection is lost. */
  down(): void {
    for (const channel of this.#channels.values()) channel.disconnected();
  }

  onLine({ command, params }: ServerLine): void {
    const channel = JOIN_REJECTIONS.has(command) ? this.#get(params[1] ?? "") : undefined;
    // The same reply can refuse a line to a channel that the bridge is in.
    if (channel === undefined || channel.isJoined) return;
    channel.rejected(params.at(-1) ?? command, REJECTIONS_FOR_NOW.has(command));
    if (!channel.isInvited) return;
    if (command === BANNED) this.#forget(channel, KICK_TO_REMOVE);
    else if (channel.failures >= FORGET_AFTER_FAILURES) {
      this.#forget(channel, "cannot join a channel of an invitation for a day: the channel is forgotten");
    }
  }

  /** Called when the server refuses a line to a channel. */
  refused(id: string, reason: string): void {
    this.#channels.get(id)?.refused(reason);
  }

  /** Called when the server has delivered a line to a target. */
  delivered(target: string): void {
    this.#channels.get(target)?.delivered();
  }

  #get(name: string): Channel | undefined {
    return this.#channels.get(this.#lower(name));
  }

  #add(wanted: WantedChannel, isInvited: boolean): Channel {
    const { log, outbox, onSilent, onWritable } = this.#options;
    const idOf = (channel: Channel): string => this.#lower(channel.wanted.name);
    const channel = new Channel(wanted, isInvited, {
      log,
      outbox,
      ownNick: () => this.#ownNick(),
      onSilent: (each) => onSilent(idOf(each)),
      onWritable: (each) => onWritable(idOf(each)),
    });
    this.#channels.set(this.#lower(wanted.name), channel);
    return channel;
  }

  /**
   * A kick from a channel to which the bridge was only invited is a request to leave. The bridge rejoins a channel that
   * is in its settings.
   */
  #removed(name: string, by: "kick" | "part"): void {
    const channel = this.#get(name);
    if (channel?.isInvited) this.#forget(channel, KICK_TO_REMOVE);
    else channel?.removed(by);
  }

  #forget(channel: Channel, why: string): void {
    const { log, onForgotten } = this.#options;
    const { name } = channel.wanted;
    channel.disconnected();
    this.#channels.delete(this.#lower(name));
    onForgotten(this.#lower(name));
    try {
      this.#saveInvited();
    } catch (err) {
      log.error(
        { err, channel: name },
        "cannot save the channels: after a restart, the bridge joins this channel",
      );
    }
    log.info({ channel: name }, why);
  }

  #saveInvited(): void {
    const invited = [...this.#channels.values()].filter(({ isInvited }) => isInvited);
    this.#options.saveInvited(invited.map(({ wanted }) => wanted.name));
  }

  #invited(nick: string, name: string): void {
    const known = this.#get(name);
    if (known?.isJoined || !isChannelName(name)) return;
    const isAllowed = known !== undefined || this.#options.mayInvite(nick);
    if (typeof isAllowed === "boolean") return this.#answer(name, isAllowed);
    void isAllowed.then((isIt) => this.#answer(name, isIt));
  }

  #answer(name: string, isAllowed: boolean): void {
    const { log } = this.#options;
    const known = this.#get(name);
    if (known?.isJoined) return;
    if (!isAllowed) {
      log.warn({ channel: name }, "ignored an invitation: IRC_ALLOW_INVITES does not allow it");
      return;
    }
    if (known === undefined && this.#channels.size >= CHANNELS_MAX) {
      log.warn({ channel: name }, `ignored an invitation: ${CHANNELS_ARE_MAX}`);
      return;
    }
    const channel = known ?? this.#add({ name, key: undefined }, true);
    if (known === undefined) this.#saveInvited();
    channel.joinInvited();
  }
}

/**
 * Returns whether a change of modes lets the bridge write: it was given a rank, or the channel is no longer moderated.
 */
function isFreedBy(modes: readonly Mode[] | undefined, isOwn: (nick: string) => boolean): boolean {
  return (modes ?? []).some(
    ({ mode, param }) => mode === "-m" || (RANKS.has(mode) && typeof param === "string" && isOwn(param)),
  );
}
