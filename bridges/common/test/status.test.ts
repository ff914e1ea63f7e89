import type { Bridge, BridgeStatus, CommandReport } from "chat-bridge-kit";
import { statusText, withStatus } from "../status";

const CONNECTED: BridgeStatus = {
  isConnected: true,
  lastContactAt: undefined,
  problem: undefined,
  waiting: [],
};
const ROOMS = [
  { id: "#games", name: "#games", problem: undefined },
  { id: "#secret", name: "#secret", problem: "the bridge is banned" },
];
const textOf = (service: Partial<BridgeStatus>, here = "#games", rooms = ROOMS): string =>
  statusText({ program: "bridge 1.0.0", here, rooms, service: { ...CONNECTED, ...service } });

test("the status says whether games work in this room, and in how many rooms, but names no other room", () => {
  expect(textOf({})).toBe(
    "bridge 1.0.0. Games work here. Games work in 1 of 2 rooms of this bridge. The game service is connected.",
  );
  expect(textOf({}, "#secret")).toContain("Games do not work here: the bridge is banned.");
  expect(textOf({}, "#unknown", [])).toBe("bridge 1.0.0. The game service is connected.");
});

test.each([
  ["the connection failed: connect ECONNREFUSED 10.1.2.3:8080", "has not answered", "does not answer"],
  ["the service answered with 401", "has rejected this bridge", "rejects this bridge"],
])(
  "the status says since when the service has been disconnected, but not the service's address: %s",
  (problem, why, now) => {
    const lastContactAt = new Date("2026-05-01T12:03:59Z");
    const lost = { isConnected: false, lastContactAt, problem };
    const service = `game service ${why} since 12:03 UTC.`;
    expect(textOf(lost)).toBe(
      `bridge 1.0.0. The bridge can write here, but the ${service} The bridge can write in 1 of 2 rooms of this bridge.`,
    );
    expect(textOf(lost, "#secret")).toContain(`Games do not work here: the bridge is banned. The ${service}`);
    expect(textOf(lost, "#unknown", [])).toBe(`bridge 1.0.0. The ${service}`);
    expect(textOf({ isConnected: false, problem })).toContain(`, but the game service ${now}. `);
  },
);

test("the status says that messages for this room are waiting", () => {
  const waiting = [{ channel: "#games", messages: 2, since: new Date(), problem: "muted" }];
  expect(textOf({ waiting })).toContain("Messages for this room wait, because the chat refuses them.");
  expect(textOf({ waiting }, "#other")).not.toContain("wait");
});

/**
 * Sends commands through a bridge that has a status command. Returns the commands that the bridge reported, and its
 * answers.
 */
async function send(word: string, ...commands: readonly (readonly [user: string, text: string])[]) {
  const [reported, answered]: [string[], string[]] = [[], []];
  const kit = {
    get status() {
      return CONNECTED;
    },
    async command({ text, id = "" }: CommandReport) {
      reported.push(text);
      return { outcome: "accepted", id, attempts: 1 } as const;
    },
  } satisfies Pick<Bridge, "command" | "status">;
  const bridge = withStatus(kit, {
    program: "bridge 1.0.0",
    settings: { STATUS_COMMAND: word },
    rooms: () => ROOMS,
    answer: (text, { user }) => answered.push(`${typeof user === "string" ? user : user.id}: ${text}`),
  });
  for (const [user, text] of commands) await bridge.command({ channel: "#games", user, text });
  return { reported, answered };
}

test("the bridge answers the status command itself, at most once in ten seconds per member", async () => {
  const { reported, answered } = await send(
    "status",
    ["ann", "start"],
    ["ann", " Status "],
    ["ann", "status"],
    ["bob", "status"],
    ["ann", "status of the game"],
  );
  expect(reported).toEqual(["start", "status of the game"]);
  expect(answered).toEqual([
    expect.stringMatching(/^ann: bridge 1\.0\.0\. Games work here/),
    expect.stringMatching(/^bob: /),
  ]);
});

test("STATUS_COMMAND changes the word of the status command, and off makes the bridge report that command to the service", async () => {
  expect(await send("zustand", ["ann", "status"], ["ann", "zustand"])).toMatchObject({
    reported: ["status"],
    answered: [expect.any(String) as string],
  });
  expect(await send("off", ["ann", "status"], ["ann", "off"])).toEqual({
    reported: ["status", "off"],
    answered: [],
  });
});
