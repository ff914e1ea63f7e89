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
  const handlers = new Map<string, (event: object) => void>();
  const client = {
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
    onSilent: () => undefined,
    onWritable: () => undefined,
    onForgotten: () => undefined,
    ...options,
  });
  channels.up(session);
  const on = (name: string, event: object) => handlers.get(name)?.(event);
  return { channels, sent, saved, warnings, on, session };
}

test("a channel from an earlier invitation that is also in the settings is joined once, with its key", () => {
  const { sent } = setUp({ wanted: [PRIVATE], invitedBefore: [{ ...PRIVATE, key: undefined }, PLAIN] });
  expect(sent.toSorted()).toEqual(["JOIN #games", "JOIN #private k"]);
});

test("after an invitation, the bridge saves the channels that it was invited to, and not those in the settings", () => {
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

test("the channel of an invitation that could not be saved is joined over the next connection", () => {
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
