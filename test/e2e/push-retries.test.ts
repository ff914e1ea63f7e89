import { setTimeout as sleep } from "node:timers/promises";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import {
  closeWithoutAnswer,
  garbage,
  reset,
  sayNothing,
  status,
  type Behaviour,
} from "../harness/behaviours";
import { create, dm, ephemeral, update, type ContentInit } from "../harness/contents";
import { eventIdOf, type PushedBridge, sharedPush } from "../harness/push";
import type { ReceivedRequest } from "../harness/receiver";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const KINDS = Object.entries(MessageKind).flatMap(([name, code]) =>
  typeof code === "number" && code !== MessageKind.UNSPECIFIED ? [[name.toLowerCase(), code] as const] : [],
);
const PHASE_STARTS = ["question", "gotcha_bait", "gotcha_reveal", "time_up", "game_end"];

/** A message id for each row, so that no row waits for another. */
const messageId = (row: number): string => `msg_01J0ABCDEFGHJKMNPQRSTVWX${String(row).padStart(2, "0")}`;
/** What is pushed, and how often when every attempt fails. */
const ROWS: readonly (readonly [name: string, attempts: number, content: ContentInit])[] = [
  ["message.create", 3, create("c1")],
  ["message.create of an answer count", 3, create("c1", { kind: MessageKind.ANSWER_UPDATE, text: "x" })],
  ["dm.create", 3, dm("u1")],
  ["message.ephemeral", 3, ephemeral("c1", "u1")],
  ...KINDS.map(
    ([name, kind], row) =>
      [
        `message.update of kind ${name}`,
        PHASE_STARTS.includes(name) ? 3 : 1,
        update("c1", { id: messageId(row), kind, text: "x" }),
      ] as const,
  ),
];
const TIMED = 50;

const push = sharedPush();
let table: PushedBridge;
let pinged: PushedBridge;
let tableIds: readonly string[];
beforeAll(async () => {
  [table, pinged] = await Promise.all([push.bridge(), push.bridge()]);
  for (const bridge of [table, pinged]) bridge.behave(status(500));
  await push.ping(pinged.workspaceId);
  await push.publish(textEvent(pinged.workspaceId, "its attempts outlive those that a ping would have"));
  const events = await push.publish(
    ...ROWS.map(([, , content]) => ({ workspaceId: table.workspaceId, content })),
  );
  tableIds = events.map(({ eventId }) => eventId);
  await pinged.waitFor(4);
  await push.logged(
    table.workspaceId,
    ROWS.reduce((sum, [, attempts]) => sum + attempts, 0),
  );
}, 30_000);

describe("after a failed delivery", () => {
  // contract: retry-phase, retry-never, retry-same-id
  test.each(ROWS.map(([name, attempts], row) => [name, attempts, row] as const))(
    "%s is delivered %i times in all",
    (_name, attempts, row) => {
      const eventId = tableIds[row];
      const requests = table.requests.filter((request) => eventIdOf(request) === eventId);
      expect(requests).toHaveLength(attempts);
      expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
    },
  );

  // contract: push-missed
  test("each attempt is in the log, and each event that is given up is reported", async () => {
    const log = await push.deliveries(table.workspaceId);
    const made = (eventId: string | undefined) =>
      log.filter((entry) => entry.eventId === eventId).map(({ attempt }) => attempt);
    expect(tableIds.map(made)).toEqual(ROWS.map(([, attempts]) => [1, 2, 3].slice(0, attempts)));
    const givenUp = await push.givenUp(table.workspaceId, ROWS.length);
    expect(givenUp.map(({ eventId }) => String(eventId)).toSorted()).toEqual(tableIds.toSorted());
    const others = await push.givenUp(pinged.workspaceId, 1);
    expect(others).toHaveLength(1);
    for (const { reason } of [...givenUp, ...others]) expect(reason).toBe("failed");
  });

  // contract: retry-never
  test("a ping is never retried", () => {
    expect(pinged.requests.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3]);
  });

  // contract: retry-create
  test("retries are due 1 s and 4 s after the first attempt failed, and 95 of 100 start within 50 ms", async () => {
    const onTime: number[] = [];
    // A machine that is busy with something else may disturb one lot; a service that is late is so in each.
    while (onTime.length < 3 && Math.max(0, ...onTime) < 0.95 * 2 * TIMED) {
      const lateMs = await timeRetries();
      expect(lateMs).toHaveLength(2 * TIMED);
      // What seems early is of an event whose first attempt the receiver was slow to note.
      onTime.push(lateMs.filter((late) => Math.abs(late) <= 50).length);
    }
    expect(Math.max(...onTime)).toBeGreaterThanOrEqual(0.95 * 2 * TIMED);
  }, 120_000);
});

/** Has events refused, one at a time, and answers how late each of their retries was, ms. */
async function timeRetries(): Promise<readonly number[]> {
  const bridge = await push.bridge();
  bridge.behave(status(500));
  // Spread, as their timeliness is looked at and not how much the machine bears.
  for (let i = 0; i < TIMED; i++) {
    await push.publish(textEvent(bridge.workspaceId, String(i)));
    await sleep(80);
  }
  const requests = await bridge.waitFor(3 * TIMED);
  const ids = [...new Set(requests.map(eventIdOf))];
  return ids.flatMap((id) => {
    const [first, second, third] = requests.filter((request) => eventIdOf(request) === id);
    return [startOf(second) - startOf(first) - 1_000, startOf(third) - startOf(first) - 4_000];
  });
}

function startOf(request: ReceivedRequest | undefined): number {
  return request?.at ?? Number.NaN;
}

/** How each attempt is answered, and when the attempts are to come, ms after the first. */
const COURSES: readonly (readonly [
  name: string,
  answers: readonly Behaviour[],
  starts: readonly number[],
])[] = [
  ["that is accepted at the second attempt is not sent again", [status(500), status(204)], [0, 1_000]],
  [
    "that is accepted at the third attempt is done",
    [status(500), status(404), status(200)],
    [0, 1_000, 4_000],
  ],
  [
    "whose second attempt is under way at +4 s is tried a third time as soon as that has failed",
    [status(500), status(500, { afterMs: 4_000 }), status(500)],
    [0, 1_000, 5_000],
  ],
  [
    "whose second attempt gets no answer is tried a third time when its 5 seconds are over",
    [status(500), sayNothing(), status(204)],
    [0, 1_000, 6_000],
  ],
  [
    "that was not answered in time is tried again from the moment on when that was clear",
    [sayNothing(), status(500), status(500)],
    [0, 6_000, 9_000],
  ],
  [
    "that a slow bridge refused is tried again from its answer on",
    [status(500, { afterMs: 2_000 }), status(500), status(204)],
    [0, 3_000, 6_000],
  ],
  ["whose connection was reset is tried again", [reset(), reset(), reset()], [0, 1_000, 4_000]],
  ["whose connection was closed is tried again", [closeWithoutAnswer(), status(204)], [0, 1_000]],
  ["that was answered with garbage is tried again", [garbage(), status(204)], [0, 1_000]],
];

/** Has an event answered so, and tells when its attempts came, ms after the first. */
async function runCourse(answers: readonly Behaviour[], attempts: number): Promise<readonly number[]> {
  const bridge = await push.bridge();
  // A connection that is kept, as most are.
  await push.publish(textEvent(bridge.workspaceId, "before"));
  await push.logged(bridge.workspaceId, 1);
  bridge.behave(({ attempt }) => answers[attempt - 1] ?? status(500));
  await push.publish(textEvent(bridge.workspaceId, "x"));
  await push.logged(bridge.workspaceId, 1 + attempts, 20_000);
  await until("it is done with", () => bridge.requests.length >= 1 + attempts);
  const [, first, ...others] = bridge.requests;
  return [first, ...others].map((request) => startOf(request) - startOf(first));
}

test("an event is tried again as the course of its attempts has it", async () => {
  await Promise.all(
    COURSES.map(async ([name, answers, starts]) => {
      const judged: (readonly boolean[])[] = [];
      // A machine that is busy with something else may disturb one run; a course that is another is so in each.
      while (judged.length < 2 && !judged.some((each) => each.every(Boolean))) {
        const offsets = await runCourse(answers, starts.length);
        expect([name, offsets.length]).toEqual([name, starts.length]);
        judged.push(offsets.map((offset, i) => Math.abs(offset - (starts[i] ?? 0)) < 400));
      }
      expect([name, judged.at(-1)]).toEqual([name, starts.map(() => true)]);
    }),
  );
}, 120_000);

test.each([
  ["a connection reset", reset()],
  ["a connection closed without an answer", closeWithoutAnswer()],
])(
  "an event that is never retried is sent once, also where %s broke a kept connection",
  async (_name, broken) => {
    const bridge = await push.bridge();
    await push.publish(textEvent(bridge.workspaceId, "before"));
    await push.logged(bridge.workspaceId, 1);
    bridge.behave(broken);
    const tally = { id: messageId(99), kind: MessageKind.ANSWER_UPDATE, text: "3 answers" };
    await push.publish({ workspaceId: bridge.workspaceId, content: update("c1", tally) });
    const [, tried] = await push.logged(bridge.workspaceId, 2);
    expect([tried?.attempt, tried?.result]).toEqual([1, DeliveryResult.BODY]);
    expect(bridge.requests.map(({ connection, attempt }) => [connection, attempt])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  },
);
