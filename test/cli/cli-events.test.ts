import { EXIT } from "../../cli/exit-code";
import { poll, post } from "../harness/bridge";
import { runCli, startCli, type CliChild } from "../harness/cli";
import { TOKENS } from "../harness/processes";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

jest.setTimeout(120_000);

/** The machine may be busy: a process takes its time to start. */
const eventually: typeof until = (what, condition) => until(what, condition, 60_000);

const service = sharedService();
let workspace: TestWorkspace;
const tails: CliChild[] = [];
beforeEach(async () => {
  workspace = await createWorkspace(service.clients);
});
afterEach(async () => {
  for (const { child, ended } of tails.splice(0)) {
    child.kill("SIGKILL");
    await ended;
  }
});

interface Page {
  readonly events: readonly Record<string, unknown>[];
}

const publish = (args: readonly string[], stdin = "") =>
  runCli(["publish", workspace.id, ...args], { role: "game", corePort: service.core.port, stdin });
const held = async () => (await poll(service.url, workspace)).json as Page;
const COMMAND = { type: "command", channel: { id: "c1", name: "general" }, user: { id: "u1", name: "Ann" } };

function startTail(role: "operator" | "game", ...args: readonly string[]): CliChild {
  const tail = startCli(["tail", ...args], { role, corePort: service.core.port });
  tails.push(tail);
  return tail;
}
const lines = (tail: CliChild) => tail.stdout().split("\n").slice(0, -1);
const parsed = (tail: CliChild) => lines(tail).map((line) => JSON.parse(line) as Record<string, unknown>);
/** Ends a tail as a person does. */
async function interrupt({ child, ended }: CliChild) {
  child.kill("SIGINT");
  return ended;
}

test("publish sends an event of options, and answers what a game is answered", async () => {
  const flags = [
    "--channel",
    "general",
    "--text",
    "Who is **in**?",
    "--button",
    "Join=join",
    "--lifetime",
    "1h",
  ];
  const { code, stderr, json } = await publish([
    ...flags,
    "--button",
    "Rules=https://a.example/?a=b",
    "--json",
  ]);
  expect([code, stderr]).toEqual([EXIT.DONE, ""]);
  const [event] = (await held()).events;
  expect(event).toMatchObject({
    type: "message.create",
    channel: "general",
    message: {
      kind: "card",
      text: "Who is **in**?",
      buttons: [
        [
          { label: "Join", action: "join" },
          { label: "Rules", url: "https://a.example/?a=b" },
        ],
      ],
    },
  });
  const { id, sequence, expiresAt, message } = event as { message: { id: string } } & Record<string, unknown>;
  expect(json).toEqual({ eventId: id, sequence, expiresAt, messageId: message.id, repeated: false });
});

test("publish reads an event from stdin; under the same key it is published once", async () => {
  const event = { type: "dm.create", user: "u1", message: { text: "hi" }, idempotencyKey: "k" };
  const first = await publish(["-", "--json"], JSON.stringify(event));
  const again = await publish(["-"], JSON.stringify(event));
  expect([first.code, first.stderr, again.code, again.stderr]).toEqual([EXIT.DONE, "", EXIT.DONE, ""]);
  const { eventId } = first.json as { eventId: string };
  expect(again.stdout).toContain(`${eventId} (published before under this key)`);
  expect((await held()).events).toMatchObject([{ id: eventId, type: "dm.create", user: "u1" }]);
});

test.each<[string, readonly string[], string, number, RegExp]>([
  ["no text", ["--channel", "c1"], "", EXIT.USAGE, /--text/],
  ["options beside JSON", ["-", "--text", "hi"], "{}", EXIT.USAGE, /not both/],
  [
    "a kind that there is not",
    ["--channel", "c1", "--text", "hi", "--kind", "crad"],
    "",
    EXIT.USAGE,
    /Allowed choices.*card/s,
  ],
  [
    "a lifetime without a unit",
    ["--channel", "c1", "--text", "hi", "--lifetime", "10"],
    "",
    EXIT.USAGE,
    /s, m or h/,
  ],
  ["what is not JSON", ["-"], "{", EXIT.DATA, /not JSON/],
  [
    "a field that core refuses",
    ["--channel", "dm:u1", "--text", "hi"],
    "",
    EXIT.DATA,
    /message_create\.channel|dm_create/,
  ],
  ["a file that is not there", ["no-such-file.json"], "", EXIT.NOT_FOUND, /ENOENT/],
])("publish tells of %s and publishes nothing", async (_what, args, stdin, wanted, words) => {
  const { code, stderr, stdout } = await publish(args, stdin);
  expect([code, stdout]).toEqual([wanted, ""]);
  expect(stderr).toMatch(words);
  expect((await held()).events).toEqual([]);
});

test("publish to a workspace that there is not ends with its own exit code", async () => {
  const args = ["publish", "11111111-2222-4333-8444-555555555555", "--channel", "c1", "--text", "hi"];
  expect((await runCli(args, { role: "game", corePort: service.core.port })).code).toBe(EXIT.NOT_FOUND);
});

// contract: test-event
test("send-test says whether the bridge polls, in its exit code too", async () => {
  const sendTest = () => runCli(["send-test", workspace.id, "--json"], { corePort: service.core.port });
  expect(await sendTest()).toMatchObject({
    code: EXIT.NO,
    json: { mode: "poll", polledWithinLastMinute: false },
  });
  await held();
  expect(await sendTest()).toMatchObject({
    code: EXIT.DONE,
    json: { mode: "poll", polledWithinLastMinute: true },
  });
});

// contract: poll-is-delivery
test("tail deliveries shows health at once and every poll live, and Ctrl-C ends it well", async () => {
  const tail = startTail("operator", "deliveries", workspace.id, "--json");
  await eventually("health is shown", () => lines(tail).length >= 1);
  await held();
  const delivery = await eventually("the poll is shown", () =>
    parsed(tail).find((line) => "delivery" in line),
  );
  expect(parsed(tail)[0]).toMatchObject({ health: { mode: "poll", lastPollAt: null } });
  expect(delivery).toMatchObject({ delivery: { eventType: "poll", result: "success", attempt: 0 } });
  expect(await interrupt(tail)).toMatchObject({ code: EXIT.DONE, stderr: "" });
});

test("tail events shows what members do in the contract's words, acks it, and Ctrl-C ends it well", async () => {
  const tail = startTail("game", "events", "--group", "acks", "--json");
  await eventually("it follows", () => tail.stderr().includes("Following."));
  const event = { id: "r1", ...COMMAND, text: "start" };
  expect((await post(service.url, workspace, event)).status).toBe(202);
  const [line] = await eventually("the event is shown", () => lines(tail).length >= 1 && parsed(tail));
  expect(line).toMatchObject({ workspace: workspace.id, event });
  expect(await interrupt(tail)).toMatchObject({ code: EXIT.DONE });

  const next = startTail("game", "events", "--group", "acks", "--json");
  await eventually("it follows again", () => next.stderr().includes("Following."));
  const later = { id: "r2", ...COMMAND, text: "again" };
  expect((await post(service.url, workspace, later)).status).toBe(202);
  await eventually("the later event is shown", () => lines(next).length >= 1);
  expect(parsed(next)).toMatchObject([{ event: later }]);
});

test("tail events of one workspace leaves those of others out", async () => {
  const tail = startTail("game", "events", workspace.id.toUpperCase(), "--group", "one", "--json");
  await eventually("it follows", () => tail.stderr().includes("Following."));
  const other = await createWorkspace(service.clients);
  expect((await post(service.url, other, { ...COMMAND, text: "theirs" })).status).toBe(202);
  expect((await post(service.url, workspace, { ...COMMAND, text: "ours" })).status).toBe(202);
  await eventually("an event is shown", () => lines(tail).length >= 1);
  expect(parsed(tail)).toMatchObject([{ event: { text: "ours" } }]);
});

test("escape sequences in what members type do not reach the terminal", async () => {
  const tail = startTail("game", "events", "--group", "escapes");
  await eventually("it follows", () => tail.stderr().includes("Following."));
  const user = { id: "u\u001b[31m", name: "\u009b2J\u202e" };
  const event = { ...COMMAND, user, text: "\u001b]52;c;ZXZpbA==\u0007 end" };
  expect((await post(service.url, workspace, event)).status).toBe(202);
  await eventually("the event is shown", () => tail.stdout().includes(" end"));
  // oxlint-disable-next-line no-control-regex
  expect(tail.stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test("a tail ends with the workspace that it shows", async () => {
  const tail = startTail("operator", "deliveries", workspace.id);
  await eventually("health is shown", () => lines(tail).length >= 1);
  const args = ["workspace", "delete", workspace.id, "--yes"];
  expect((await runCli(args, { corePort: service.core.port })).code).toBe(EXIT.DONE);
  expect((await tail.ended).code).toBe(EXIT.NOT_FOUND);
});

test("a tail whose reader has gone ends", async () => {
  const tail = startTail("operator", "deliveries", workspace.id);
  await eventually("health is shown", () => lines(tail).length >= 1);
  tail.child.stdout?.destroy();
  await held();
  expect((await tail.ended).code).toBe(EXIT.DONE);
});

test.each([
  ["deliveries", "game", "operator"],
  ["events", "operator", "game"],
] as const)(
  "tail %s with a token of the role %s says that it needs one of the role %s",
  async (what, role, needed) => {
    const args = what === "events" ? ["tail", what] : ["tail", what, workspace.id];
    const { code, stderr } = await runCli(args, { role, corePort: service.core.port });
    expect([code, stderr]).toEqual([EXIT.TOKEN, expect.stringContaining(`role ${needed}`) as string]);
    expect(stderr).not.toContain(TOKENS[role]);
  },
);
