import { EXIT } from "../../cli/exit-code";
import { status } from "../harness/behaviours";
import { poll, post } from "../harness/bridge";
import { runCli, startCli, startCliProcess, type CliChild } from "../harness/cli";
import { TOKENS } from "../harness/processes";
import { cardUpdate, sharedPush } from "../harness/push";
import type { TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

const push = sharedPush();
const { service } = push;
const corePort = service.core.port;
const asGame = { role: "game", corePort } as const;
let workspace: TestWorkspace;
const tails: CliChild[] = [];
beforeEach(async () => {
  workspace = await service.workspaces.make();
});
afterEach(async () => {
  for (const { interrupt, ended } of tails.splice(0)) {
    interrupt();
    await ended;
  }
});

const publish = (args: string, stdin = "") => runCli(`publish ${workspace.id} ${args}`, { ...asGame, stdin });
const heldEvents = async () =>
  ((await poll(service.url, workspace)).json as { events: readonly Record<string, unknown>[] }).events;
const parsed = (tail: CliChild) => tail.lines().map((line) => JSON.parse(line) as Record<string, unknown>);

const COMMAND = { type: "command", channel: { id: "c1", name: "general" }, user: { id: "u1", name: "Ann" } };
async function send(event: object, to = workspace): Promise<void> {
  expect((await post(service.url, to, { ...COMMAND, ...event })).status).toBe(202);
}

let groups = 0;
/** Starts `tail events` with a new group, unless `group` is given. */
async function tailEvents(args = "--json", group = `cli-${++groups}`): Promise<CliChild> {
  const tail = startCli(`tail events --group ${group} ${args}`, asGame);
  tails.push(tail);
  await until("the command follows events", () => tail.stderr().includes("Following."));
  return tail;
}

async function tailDeliveries(start: typeof startCli, args = ""): Promise<CliChild> {
  const tail = start(`tail deliveries ${workspace.id}${args}`, { corePort });
  tails.push(tail);
  await until("health is shown", () => tail.lines().length > 0);
  return tail;
}

test("`publish` sends an event that its options describe, and prints core's answer", async () => {
  const options =
    "--channel general --lifetime 1h --button Join=join --button Rules=https://a.example/?a=b --json";
  const words = ["publish", workspace.id, "--text", "Who is **in**?", ...options.split(" ")];
  const { code, stderr, json } = await runCli(words, asGame);
  expect([code, stderr]).toEqual([EXIT.DONE, ""]);
  const [event] = await heldEvents();
  const [join, rules] = [
    { label: "Join", action: "join" },
    { label: "Rules", url: "https://a.example/?a=b" },
  ];
  expect(event).toMatchObject({
    type: "message.create",
    channel: "general",
    message: { kind: "card", text: "Who is **in**?", buttons: [[join, rules]] },
  });
  const { id, sequence, expiresAt, message } = event as { message: { id: string } } & Record<string, unknown>;
  expect(json).toEqual({ eventId: id, sequence, expiresAt, messageId: message.id, repeated: false });
});

test("`publish` reads an event from stdin, and a second `publish` with the same idempotency key does not add an event", async () => {
  const event = { type: "dm.create", user: "u1", message: { text: "hi" }, idempotencyKey: "k" };
  const first = await publish("- --json", JSON.stringify(event));
  const again = await publish("-", JSON.stringify(event));
  expect([first.code, first.stderr, again.code, again.stderr]).toEqual([EXIT.DONE, "", EXIT.DONE, ""]);
  const { eventId } = first.json as { eventId: string };
  expect(again.stdout).toContain(`${eventId} (published before with this key)`);
  expect(await heldEvents()).toMatchObject([{ id: eventId, type: "dm.create", user: "u1" }]);
});

test.each<[string, string, string, number, RegExp]>([
  ["a missing text", "--channel c1", "", EXIT.USAGE, /--text/],
  ["options together with JSON", "- --text hi", "{}", EXIT.USAGE, /not both/],
  ["an unknown kind", "--channel c1 --text hi --kind crad", "", EXIT.USAGE, /Allowed choices.*card/s],
  ["a lifetime without a unit", "--channel c1 --text hi --lifetime 10", "", EXIT.USAGE, /s, m or h/],
  ["input that is not JSON", "-", "{", EXIT.DATA, /not JSON/],
  ["an invalid event", "--channel dm:u1 --text hi", "", EXIT.DATA, /message_create\.channel|dm_create/],
  ["a missing file", "no-such-file.json", "", EXIT.NOT_FOUND, /ENOENT/],
])("`publish` rejects %s and publishes nothing", async (_what, args, stdin, wanted, words) => {
  const { code, stderr, stdout } = await publish(args, stdin);
  expect([code, stdout]).toEqual([wanted, ""]);
  expect(stderr).toMatch(words);
  expect(await heldEvents()).toEqual([]);
});

// contract: test-event
test("`send-test` reports whether the bridge polls, in its output and in its exit code", async () => {
  const sendTest = () => runCli(`send-test ${workspace.id} --json`, { corePort });
  const answer = (code: number, polledWithinLastMinute: boolean) => {
    return { code, json: { mode: "poll", polledWithinLastMinute } };
  };
  expect(await sendTest()).toMatchObject(answer(EXIT.NO, false));
  await heldEvents();
  expect(await sendTest()).toMatchObject(answer(EXIT.DONE, true));
});

// contract: test-event-push
test("`send-test` on a push workspace prints every step and the result of the push, and `workspace show` counts the push", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(207));
  const { code, stdout } = await runCli(`send-test ${bridge.workspaceId}`, { corePort });
  expect(code).toBe(EXIT.DONE);
  const steps = [...stdout.matchAll(/^\d+ ms +(\w+) /gm)].map(([, step]) => step);
  expect(steps).toEqual(["name", "address", "connect", "tls", "send", "status"]);
  expect(stdout).toMatch(/The bridge accepted the ping: 207 after \d+ ms\./);
  const { json } = await runCli(`workspace show ${bridge.workspaceId} --json`, { corePort });
  const lastSuccess = { attempt: 1, result: "success", address: "127.0.0.1" };
  expect(json).toMatchObject({ health: { mode: "push", attempts: 1, lastSuccess } });

  bridge.behave(status(500));
  const failed = await runCli(`send-test ${bridge.workspaceId}`, { corePort });
  expect(failed.code).toBe(EXIT.NO);
  expect(failed.stdout).toMatch(/The push failed at the step status: .*500/);
});

// contract: poll-is-delivery
test("`tail deliveries` shows the workspace's health immediately and then each poll, until Ctrl-C", async () => {
  const tail = await tailDeliveries(startCliProcess, " --json");
  await heldEvents();
  const delivery = await until("the poll is shown", () => parsed(tail).find((line) => "delivery" in line));
  expect(parsed(tail)[0]).toMatchObject({ health: { mode: "poll", lastPollAt: null } });
  const shown = { eventType: "poll", result: "success", attempt: 0, polls: 1, events: 0 };
  expect(delivery).toMatchObject({ delivery: shown });
  tail.interrupt();
  expect(await tail.ended).toMatchObject({ code: EXIT.DONE, stderr: "" });
});

test("`tail deliveries` prints health at the start, and again only when its state changes", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(503));
  const tail = startCli(`tail deliveries ${bridge.workspaceId}`, { corePort });
  tails.push(tail);
  const healths = () => tail.lines().filter((line) => line.startsWith("health"));
  const attempts = () => tail.lines().filter((line) => / attempt 1 /.test(line) && !line.startsWith("last"));
  await until("health is shown", () => healths().length === 1);
  for (let i = 1; i <= 4; i++) {
    await push.publish(cardUpdate(bridge.workspaceId, String(i)));
    await until("the attempt is shown", () => attempts().length === i);
  }
  await until("the bridge is failing", () => healths().some((line) => line.endsWith("Failing")));
  bridge.behave(status(204));
  await push.publish(cardUpdate(bridge.workspaceId, "5"));
  await until("the bridge has recovered", () => healths().some((line) => line.includes("Recovered")));
  const states = healths().map((line) => line.split(/ +/)[1]);
  expect(states).toEqual([...new Set(states)]);
});

test("`tail events` shows members' events with the contract's fields, and acks the events", async () => {
  const tail = await tailEvents("--json", "cli-acks");
  await send({ id: "r1", text: "start" });
  await until("the event is shown", () => tail.lines().length > 0);
  const event = { ...COMMAND, id: "r1", text: "start" };
  expect(parsed(tail)).toMatchObject([{ workspace: workspace.id, event }]);
  tail.interrupt();
  expect((await tail.ended).code).toBe(EXIT.DONE);

  const next = await tailEvents("--json", "cli-acks");
  await send({ id: "r2", text: "again" });
  await until("the later event is shown", () => next.lines().length > 0);
  expect(parsed(next)).toMatchObject([{ event: { id: "r2" } }]);
});

test("`tail events` with a workspace id omits the events of other workspaces", async () => {
  const tail = await tailEvents(`${workspace.id.toUpperCase()} --json`);
  await send({ text: "theirs" }, await service.workspaces.make());
  await send({ text: "ours" });
  await until("an event is shown", () => tail.lines().length > 0);
  expect(parsed(tail)).toMatchObject([{ event: { text: "ours" } }]);
});

test("escape sequences that members type do not reach the terminal", async () => {
  const tail = await tailEvents("");
  const user = { id: "u\u001b[31m", name: "\u009b2J\u202e" };
  await send({ user, text: "\u001b]52;c;ZXZpbA==\u0007 end" });
  await until("the event is shown", () => tail.lines().some((line) => line.includes(" end")));
  // oxlint-disable-next-line no-control-regex
  expect(tail.lines().join("\n")).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test("`tail deliveries` merges successive polls into one line; `tail` and `publish` exit with NOT_FOUND for a deleted workspace", async () => {
  const tail = await tailDeliveries(startCli);
  for (let i = 0; i < 2; i++) await heldEvents();
  await until("the polls are shown", () =>
    tail.lines().some((line) => /  poll  success  200  2 polls, the last at \S+Z  no events$/.test(line)),
  );
  expect((await runCli(`workspace delete ${workspace.id} --yes`, { corePort })).code).toBe(EXIT.DONE);
  expect((await tail.ended).code).toBe(EXIT.NOT_FOUND);
  expect((await publish("--channel c1 --text hi")).code).toBe(EXIT.NOT_FOUND);
});

test("`tail` exits when the reader of its output closes the pipe", async () => {
  const tail = startCliProcess(`tail deliveries ${workspace.id}`, { corePort });
  tails.push(tail);
  await until("health is shown", () => tail.lines().length > 0);
  tail.child.stdout?.destroy();
  await heldEvents();
  expect((await tail.ended).code).toBe(EXIT.DONE);
});

test.each([
  ["deliveries", "game", "operator"],
  ["events", "operator", "game"],
] as const)(
  "`tail %s` rejects a token with the role %s, and asks for the role %s",
  async (what, role, needed) => {
    const args = what === "events" ? "tail events" : `tail deliveries ${workspace.id}`;
    const { code, stderr } = await runCli(args, { role, corePort });
    expect([code, stderr]).toEqual([EXIT.TOKEN, expect.stringContaining(`role ${needed}`)]);
    expect(stderr).not.toContain(TOKENS[role]);
  },
);
