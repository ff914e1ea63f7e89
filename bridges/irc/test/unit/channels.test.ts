import { Channels, type ChannelsOptions } from "../../connection/channels";
import type { IrcSession } from "../../connection/irc-connection";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const PLAIN = { name: "#games", key: undefined };
const PRIVATE = { name: "#private", key: "k" };

/** Returns channels with a connection whose server rejects every JOIN, and the lines that were sent. */
function setUp(options: Partial<ChannelsOptions>) {
  const sent: string[] = [];
  const saved: (readonly string[])[] = [];
  const warnings: unknown[][] = [];
  const told: string[] = [];
  const handlers = new Map<string, (event: object) => void>();
  const client = {
    user: { nick: "games" },
    on(name: string, handler: (event: object) => void) {
      handlers.set(name, handler);
      return client;
    },
  };
  const session = {
    client,
    lower: (name: string) => name.toLowerCase(),
    isOwn: (nick: string) => nick === "games",
  } as unknown as IrcSession;
  const warn = (...line: unknown[]) => void warnings.push(line);
  const log = { info: () => undefined, warn, error: () => undefined };
  const channels = new Channels({
    wanted: [],
    invitedBefore: [],
    mayInvite: () => true,
    log: log as unknown as ChannelsOptions["log"],
    outbox: { control: (line) => void sent.push(line), wake: () => undefined },
    saveInvited: (names) => saved.push(names),
    onSilent: (id) => void told.push(`silent ${id}`),
    onWritable: (id) => void told.push(`writable ${id}`),
    onForgotten: (id) => void told.push(`forgotten ${id}`),
    ...options,
  });
  channels.up(session);
  const on = (name: string, event: object) => handlers.get(name)?.(event);
  return { channels, sent, saved, warnings, told, on, session };
}

test("a channel from an earlier invitation that is also in the settings is joined once, with its key", () => {
  const { sent } = setUp({ wanted: [PRIVATE], invitedBefore: [{ ...PRIVATE, key: undefined }, PLAIN] });
  expect(sent.toSorted()).toEqual(["JOIN #games", "JOIN #private k"]);
});

test("after an invitation, the bridge saves the channels that it was invited to, but not the channels in the settings", () => {
  const { on, saved, sent } = setUp({ wanted: [PRIVATE], invitedBefore: [PLAIN] });
  on("invite", { nick: "ann", invited: "games", channel: "#more" });
  expect(saved).toEqual([["#games", "#more"]]);
  expect(sent).toContain("JOIN #more");
});

test("a rejected invitation is logged with the reason: the setting, or the maximum number of channels", () => {
  const most = Array.from({ length: 100 }, (_, number) => ({ name: `#c${number}`, key: undefined }));
  const invitation = { nick: "ann", invited: "games", channel: "#more" };
  const notAllowed = setUp({ wanted: most, mayInvite: () => false });
  notAllowed.on("invite", invitation);
  expect(notAllowed.warnings).toEqual([
    [{ channel: "#more" }, "ignored an invitation: IRC_ALLOW_INVITES does not allow it"],
  ]);
  const full = setUp({ wanted: most });
  full.on("invite", invitation);
  expect(full.warnings).toEqual([
    [
      { channel: "#more" },
      "ignored an invitation: the bridge already has 100 channels, the maximum; stop the bridge, and remove " +
        "channels from IRC_CHANNELS, or from channels.json in STATE_FOLDER",
    ],
  ]);
  expect(full.sent).not.toContain("JOIN #more");
});

test("if the channel of an invitation cannot be saved, the bridge joins it over the next connection", () => {
  const saveInvited = () => {
    throw new Error("disk full");
  };
  const { channels, on, sent, session } = setUp({ saveInvited });
  expect(() => on("invite", { nick: "ann", invited: "games", channel: "#more" })).toThrow("disk full");
  channels.down();
  channels.up(session);
  expect(sent).toEqual(["JOIN #more"]);
});

// time: controlled
test("messages for a channel are dropped once the bridge has failed to join the channel for ten minutes", () => {
  const { channels, on } = setUp({ wanted: [PLAIN] });
  on("join", { nick: "games", channel: "#games" });
  expect(channels.readiness("#games")).toBe("now");
  jest.advanceTimersByTime(3_600_000);
  on("kick", { kicked: "games", channel: "#games" });
  const seen = new Set<unknown>();
  for (let seconds = 0; seconds < 590; seconds++) {
    jest.advanceTimersByTime(1_000);
    seen.add(channels.readiness("#games"));
  }
  expect(seen).toEqual(new Set(["soon", "later"]));
  const isDropped = () => typeof channels.readiness("#games") === "object";
  for (let seconds = 0; seconds < 300 && !isDropped(); seconds++) jest.advanceTimersByTime(1_000);
  expect(channels.readiness("#games")).toEqual({ never: "the bridge cannot join the channel" });
});

/** Returns a channel that the bridge has joined, and functions with which the server changes it. */
function joined(isInvited = false) {
  const set = setUp(isInvited ? { invitedBefore: [PLAIN] } : { wanted: [PLAIN] });
  set.on("join", { nick: "games", channel: "#games" });
  set.told.length = 0;
  const mode = (change: string, param?: string) =>
    set.on("mode", { target: "#games", modes: [{ mode: change, param }] });
  return { ...set, mode };
}
const problemOf = ({ channels }: { channels: Channels }) => channels.rooms[0]?.problem;

test("a refused line makes a channel silent until the bridge gets voice, and only the first refusal is logged", () => {
  const set = joined();
  const { channels, told, warnings, sent, mode } = set;
  channels.refused("#games", "Cannot send to channel");
  channels.refused("#games", "Cannot send to channel");
  expect(channels.readiness("#games")).toEqual({ unable: problemOf(set) });
  expect(problemOf(set)).toContain("(Cannot send to channel)");
  expect(sent.at(-1)).toBe("MODE #games");
  set.on("channel info", { channel: "#games", modes: [{ mode: "+n" }, { mode: "+m" }] });
  expect(problemOf(set)).toBe(
    "the channel is moderated (+m) and the bridge has no voice: give it voice (/mode #games +v games)",
  );
  mode("+v", "ann");
  expect(problemOf(set)).toContain("moderated");
  channels.refused("#games", "Cannot send to channel");
  mode("+v", "games");
  expect(problemOf(set)).toBeUndefined();
  expect(channels.readiness("#games")).toBe("now");
  expect(warnings).toHaveLength(1);
  expect(told).toEqual(["silent #games", "writable #games", "writable #games"]);
});

// time: controlled
test("the bridge tries to write to a silent channel again after a minute, and a delivered line ends the silence", () => {
  const set = joined();
  const { channels, warnings } = set;
  channels.refused("#games", "banned");
  jest.advanceTimersByTime(59_000);
  expect(channels.readiness("#games")).toHaveProperty("unable");
  jest.advanceTimersByTime(1_000);
  expect(channels.readiness("#games")).toBe("now");
  expect(problemOf(set)).toContain("banned");
  channels.refused("#games", "banned");
  jest.advanceTimersByTime(60_000);
  channels.delivered("#games");
  expect(problemOf(set)).toBeUndefined();
  channels.refused("#games", "banned");
  expect(warnings).toHaveLength(2);
});

test("lines do not wait for a channel that rejects the bridge, unless the reason is temporary", () => {
  for (const [command, reason, expected] of [
    ["474", "Banned from channel", { unable: "the bridge cannot join the channel: Banned from channel" }],
    ["475", "Wrong channel key", { unable: "the bridge cannot join the channel: Wrong channel key" }],
    ["437", "Temporarily unavailable", "later"],
  ] as const) {
    const set = setUp({ wanted: [PLAIN] });
    set.channels.onLine({ command, params: ["games", "#games", reason] });
    expect(set.channels.readiness("#games")).toEqual(expected);
    expect(problemOf(set)).toBe(`the bridge cannot join the channel: ${reason}`);
  }
});

test("the bridge forgets a channel of an invitation after a kick, a forced part or a ban, but never a channel in the settings", () => {
  const kick = { kicked: "games", nick: "ann", channel: "#games" };
  for (const leave of [
    ({ on }: ReturnType<typeof joined>) => on("kick", kick),
    ({ on }: ReturnType<typeof joined>) => on("part", { nick: "games", channel: "#games" }),
    ({ channels, session }: ReturnType<typeof joined>) => {
      channels.down();
      channels.up(session);
      channels.onLine({ command: "474", params: ["games", "#games", "banned"] });
    },
  ]) {
    const invited = joined(true);
    leave(invited);
    expect([invited.channels.rooms, invited.saved.at(-1)]).toEqual([[], []]);
    expect(invited.told).toContain("forgotten #games");
    expect(invited.channels.readiness("#games")).toHaveProperty("never");
    const wanted = joined();
    leave(wanted);
    expect([wanted.channels.rooms.length, wanted.saved]).toEqual([1, []]);
  }
});

// time: controlled
test("a channel of an invitation that cannot be joined for a day is forgotten", () => {
  const { channels, told, saved } = setUp({ invitedBefore: [PLAIN] });
  const reject = () => channels.onLine({ command: "473", params: ["games", "#games", "Invite only"] });
  let hours = 0;
  for (; hours < 100 && channels.rooms.length > 0; hours += 1) {
    for (let minutes = 0; minutes < 60; minutes += 1) {
      reject();
      jest.advanceTimersByTime(60_000);
    }
  }
  expect(hours).toBeGreaterThan(20);
  expect([channels.rooms, saved.at(-1), told.at(-1)]).toEqual([[], [], "forgotten #games"]);
});
