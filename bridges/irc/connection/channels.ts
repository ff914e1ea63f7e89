import type { ServerLine } from "irc-framework";
import type { Logger } from "chat-bridge-runner";
import { isChannelName, type WantedChannel } from "./channel-list";
import type { IrcSession } from "./irc-session";
import type { Readiness } from "./outbox";

interface Channel extends WantedChannel {
  state: "joined" | "joining" | "out";
  /** Whether the bridge joins the channel because of an invitation, and not because of its settings. */
  readonly isInvited: boolean;
  /** Time since which the bridge is connected, but not in the channel, ms of a monotonic clock. */
  outSinceMs: number;
  /** Number of consecutive attempts that failed. */
  failures: number;
  /** Times at which the bridge was kicked. */
  kicks: number[];
  timer: NodeJS.Timeout | undefined;
}

export interface ChannelsOptions {
  /** The channels in the settings. */
  readonly wanted: readonly WantedChannel[];
  /** The channels of earlier invitations. A channel that is also in the settings is joined with its key. */
  readonly invitedBefore: readonly WantedChannel[];
  /** Returns whether the bridge accepts an invitation by this member. */
  mayInvite(nick: string): boolean;
  readonly log: Logger;
  control(line: string): void;
  /** Called when a channel was joined, or was left. */
  onChange(): void;
  /** Called with all channels of invitations, when the bridge joins a channel because of an invitation. */
  onInvited(allInvited: readonly WantedChannel[]): void;
}

const CHANNELS_MAX = 100;
const ANSWER_WITHIN_MS = 15_000;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;
const REJOIN_MS = 5_000;
const KICKS_MAX = 3;
const KICKS_WITHIN_MS = 3_600_000;
/** Milliseconds outside a channel after which messages for the channel are dropped. */
const DROP_AFTER_MS = 600_000;
/** Numeric replies that reject a `JOIN`. The second parameter is the channel. */
const REJECTIONS = new Set([
  "403",
  "405",
  "437",
  "471",
  "473",
  "474",
  "475",
  "476",
  "477",
  "480",
  "489",
  "520",
]);

/** Joins the channels of the bridge, and rejoins the channels after a lost connection, a rejection or a kick. */
export function createChannels(options: ChannelsOptions) {
  const { wanted, invitedBefore, mayInvite, log, control, onChange, onInvited } = options;
  /** By the name in lower case. */
  const channels = new Map<string, Channel>();
  let session: IrcSession | undefined;
  let lower = (name: string): string => name.toLowerCase();

  function add({ name, key }: WantedChannel, isInvited: boolean): Channel {
    const channel: Channel = {
      name,
      key,
      state: "out",
      failures: 0,
      kicks: [],
      isInvited,
      outSinceMs: performance.now(),
      timer: undefined,
    };
    channels.set(lower(name), channel);
    return channel;
  }
  for (const each of invitedBefore) add(each, true);
  // A channel of the settings replaces the same channel of an invitation.
  for (const each of wanted) add(each, false);

  function enter(channel: Channel, state: Channel["state"]): void {
    clearTimeout(channel.timer);
    if (channel.state === "joined") channel.outSinceMs = performance.now();
    channel.state = state;
    onChange();
  }

  function join(channel: Channel): void {
    if (session === undefined) return;
    enter(channel, "joining");
    control(`JOIN ${channel.name}${channel.key === undefined ? "" : ` ${channel.key}`}`);
    channel.timer = setTimeout(() => failed(channel, "no answer"), ANSWER_WITHIN_MS);
  }

  function failed(channel: Channel, reason: string): void {
    channel.failures += 1;
    const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (channel.failures - 1));
    log.warn({ channel: channel.name, reason, waitMs }, "cannot join a channel: trying again");
    enter(channel, "out");
    channel.timer = setTimeout(() => join(channel), waitMs);
  }

  function removed(channel: Channel, by: "kick" | "part"): void {
    const now = performance.now();
    channel.kicks = [...channel.kicks.filter((at) => now - at < KICKS_WITHIN_MS), now];
    enter(channel, "out");
    if (channel.kicks.length > KICKS_MAX) {
      log.error(
        { channel: channel.name },
        "removed from a channel too often: not joining until an invitation",
      );
      return;
    }
    const waitMs = REJOIN_MS * 3 ** (channel.kicks.length - 1);
    log.warn({ channel: channel.name, by, waitMs }, "removed from a channel: joining again");
    channel.timer = setTimeout(() => join(channel), waitMs);
  }

  function invited(nick: string, name: string): void {
    const known = channels.get(lower(name));
    if (known?.state === "joined" || !isChannelName(name)) return;
    if (known === undefined && (!mayInvite(nick) || channels.size >= CHANNELS_MAX)) {
      log.warn({ channel: name }, "ignored an invitation: IRC_ALLOW_INVITES does not allow it");
      return;
    }
    const channel = known ?? add({ name, key: undefined }, true);
    channel.kicks = [];
    if (known === undefined) onInvited([...channels.values()].filter(({ isInvited }) => isInvited));
    join(channel);
  }

  return {
    up(opened: IrcSession): void {
      session = opened;
      const all = [...channels.values()];
      // The server has now announced its case mapping.
      ({ lower } = opened);
      channels.clear();
      for (const each of all) channels.set(lower(each.name), each);
      for (const each of all) {
        each.outSinceMs = performance.now();
        join(each);
      }
      const on = (name: string): Channel | undefined => channels.get(opened.lower(name));
      opened.client
        .on("join", ({ nick, channel: name }) => {
          const channel = on(name);
          if (channel === undefined || !opened.isOwn(nick)) return;
          channel.failures = 0;
          log.info({ channel: name }, "joined a channel");
          enter(channel, "joined");
        })
        .on("kick", ({ kicked, channel: name }) => {
          const channel = on(name);
          if (channel !== undefined && opened.isOwn(kicked)) removed(channel, "kick");
        })
        .on("part", ({ nick, channel: name }) => {
          const channel = on(name);
          if (channel !== undefined && opened.isOwn(nick)) removed(channel, "part");
        })
        .on("invite", ({ nick, invited: guest, channel: name }) => {
          if (opened.isOwn(guest)) invited(nick, name);
        });
    },
    onLine({ command, params }: ServerLine): void {
      const channel = REJECTIONS.has(command) ? channels.get(lower(params[1] ?? "")) : undefined;
      if (channel?.state === "joining") failed(channel, params.at(-1) ?? command);
    },
    down(): void {
      session = undefined;
      for (const channel of channels.values()) enter(channel, "out");
    },
    /** The name of a channel as configured; undefined for a channel that the bridge is not in. */
    nameOf(id: string): string | undefined {
      const channel = channels.get(id);
      return channel?.state === "joined" ? channel.name : undefined;
    },
    readiness(id: string): Readiness {
      const channel = channels.get(id);
      if (channel === undefined) return { never: "the bridge is not configured to join the channel" };
      if (channel.state === "joined") return "now";
      if (channel.state === "joining" || session === undefined) return "soon";
      if (channel.kicks.length > KICKS_MAX) return { never: "the bridge was removed from the channel" };
      if (channel.failures > 0 && performance.now() - channel.outSinceMs > DROP_AFTER_MS) {
        return { never: "the bridge cannot join the channel" };
      }
      return "later";
    },
    counts: () => ({
      joined: [...channels.values()].filter(({ state }) => state === "joined").length,
      wanted: channels.size,
    }),
  };
}
