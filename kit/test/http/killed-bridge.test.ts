import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { OutboundEvent } from "../../events";
import { pushFile } from "../../push-store";
import { testFolder } from "../../../test/harness/folder";
import { KILL_STEPS, killAt } from "../../../test/harness/kill-at";
import { freePort } from "../../../test/harness/processes";
import { startProgram } from "../../../test/harness/program";
import { create, head, message, ONE_OF_EACH, WORKSPACE } from "../../../test/harness/sample-events";
import { until } from "../../../test/harness/wait";
import { pushTo, SECRET } from "../harness/kit-receiver";

const folder = testFolder();
const PROGRAM = join(__dirname, "../harness/killed-bridge.mjs");

/** Returns a bridge that can be started again and again with the same state folder, chat and port. */
async function setUp() {
  const state = mkdtempSync(join(folder, "state-"));
  const [chat, port] = [join(state, "chat.txt"), await freePort()];
  const common = { STATE_FOLDER: state, CHAT: chat, PORT: String(port) };
  const lines = () => {
    try {
      return readFileSync(chat, "utf8").split("\n");
    } catch {
      return [];
    }
  };
  return {
    async start(environment: Record<string, string> = {}) {
      const settings = { ...common, WORKSPACE_ID: WORKSPACE, SIGNING_SECRET: SECRET, ...environment };
      const program = startProgram([process.execPath, PROGRAM], { cwd: folder, environment: settings });
      await until("the bridge listens", () => program.output().includes("connected"));
      return program;
    },
    /** Resolves to whether the bridge has accepted the event. */
    push: (event: OutboundEvent) =>
      pushTo(`http://127.0.0.1:${port}`, event).then(
        ({ status }) => status === 204,
        () => false,
      ),
    /** Returns how often the chat has shown an event. */
    shown: ({ id }: OutboundEvent) => lines().filter((line) => line.split(" ")[1] === id).length,
    /** Returns whether the chat was called with the event. */
    isCalled: ({ id }: OutboundEvent) => lines().some((line) => line.endsWith(`waits ${id}`)),
    order: () => lines().flatMap((line) => (line.includes(" waits ") ? [] : (line.split(" ")[1] ?? []))),
    /**
     * Stores events as if an earlier run had accepted them and had then been killed. Call this function only before the
     * bridge starts.
     */
    async store(...events: readonly OutboundEvent[]): Promise<void> {
      const pushes = pushFile(join(state, "pushes.jsonl"));
      await pushes.load();
      for (const event of events) await pushes.add(event);
    },
    /** The stored events. Call this function only while the bridge does not run. */
    stored: () => pushFile(join(state, "pushes.jsonl")).load(),
  };
}

/**
 * Steps at which the chat's answer is lost if the bridge is killed: the next run calls the chat again with the same
 * event id.
 */
const LOST_ANSWERS: readonly string[] = [
  KILL_STEPS["after the chat shows the event, before the kit records this"],
];

test.each(Object.entries(KILL_STEPS))(
  "a bridge that is killed %s loses no accepted event, and repeats no event that it has recorded",
  async (_when, step) => {
    const { start, push, shown, stored } = await setUp();
    const event = create(1);
    const killed = await start(killAt(step));
    const isAccepted = await push(event);
    expect(await killed.exited).toBeNull();
    expect(isAccepted).toBe(!step.startsWith("pushes.jsonl 1"));
    const next = await start();
    // The service retries a push without an answer.
    if (!isAccepted) expect(await push(event)).toBe(true);
    await until("the chat shows the event", () => shown(event) > 0);
    // Events of one channel are shown in order, so once a later event is shown, all earlier events are done.
    const last = create(2);
    expect(await push(last)).toBe(true);
    await until("the chat shows the last event", () => shown(last) > 0);
    expect(shown(event)).toBe(LOST_ANSWERS.includes(step) ? 2 : 1);
    expect(await next.stop()).toBe(0);
    expect(await stored()).toEqual([]);
  },
);

test("a bridge that is killed while the chat is called shows the accepted events of each type after the restart, in order", async () => {
  const { start, push, shown, isCalled, order, stored } = await setUp();
  const first = await start();
  expect(await push(create(1))).toBe(true);
  await until("the message is shown", () => shown(create(1)) === 1);
  expect(await first.stop()).toBe(0);

  // The chat has received the first create, and the second create waits for the first.
  const { "message.update": changed, "message.ephemeral": ephemeral, "dm.create": dm } = ONE_OF_EACH;
  const events = [create(11), create(12), changed, ephemeral, dm];
  const killed = await start({ CHAT_WAITS: "1" });
  for (const event of events) expect(await push(event)).toBe(true);
  await until("the chat is called", () => [create(11), changed, ephemeral, dm].every(isCalled));
  await killed.stop("SIGKILL");
  expect(events.map(shown)).toEqual([0, 0, 0, 0, 0]);
  expect((await stored()).map(({ id }) => id)).toEqual(events.map(({ id }) => id));

  const next = await start();
  await until("the chat shows all events", () => events.every((event) => shown(event) > 0));
  // The service may repeat a push whose answer was lost.
  for (const event of events) expect(await push(event)).toBe(true);
  expect(await next.stop()).toBe(0);
  expect(events.map(shown)).toEqual([1, 1, 1, 1, 1]);
  expect(order().indexOf(create(11).id)).toBeLessThan(order().indexOf(create(12).id));
  expect(await stored()).toEqual([]);
});

test.each([1, 20, 60])(
  "a bridge that is killed after %d answers to a burst of pushes loses no accepted event",
  async (answers) => {
    const { start, push, shown, stored } = await setUp();
    const events = Array.from({ length: 100 }, (_, i) => ({ ...create(100 + i), channel: `c${i % 7}` }));
    const killed = await start();
    const accepted: OutboundEvent[] = [];
    const pushed = events.map(async (event) => {
      if (await push(event)) accepted.push(event);
    });
    await until(`${answers} answers`, () => accepted.length >= answers);
    await killed.stop("SIGKILL");
    await Promise.all(pushed);
    const next = await start();
    await until("the chat shows all accepted events", () => accepted.every((event) => shown(event) > 0));
    expect(await next.stop()).toBe(0);
    expect(await stored()).toEqual([]);
  },
);

test("a stored event that has expired is not shown after the restart", async () => {
  const { start, push, shown, store, stored } = await setUp();
  const expired = { ...head(2), expiresAt: new Date(Date.now() - 1_000).toISOString() };
  const late: OutboundEvent = { ...expired, type: "message.create", channel: "c1", message: message(2) };
  await store(create(1), late);
  const next = await start();
  expect(await push(create(3))).toBe(true);
  await until("the chat shows the last event", () => shown(create(3)) > 0);
  expect([shown(create(1)), shown(late)]).toEqual([1, 0]);
  expect(await next.stop()).toBe(0);
  expect(await stored()).toEqual([]);
});
