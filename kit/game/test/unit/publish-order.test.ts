import { until } from "../../../../test/harness/wait";
import { InboundEvent } from "../../../../proto/gen/chatbridge/v1/event";
import {
  Delivery,
  PublishRefusal,
  PublishResult,
  type OutboundEvent,
} from "../../../../proto/gen/chatbridge/v1/game";
import { CoreRejects, type CoreLink, type FollowListener } from "../../core-link";
import { createGame } from "../../game";
import { GameRun } from "../../game-run";
import { memoryStore } from "../../store";
import type { MessageRef } from "../../turn";
import { VirtualClock } from "../../testing/virtual-clock";

const published = (messageId: string): PublishResult =>
  PublishResult.create({ outcome: { $case: "published", value: { messageId } } });
const refused = (reason: PublishRefusal): PublishResult =>
  PublishResult.create({ outcome: { $case: "refused", value: { reason, field: "f" } } });
const MESSAGE_ID = "msg_01HZZZZZZZZZZZZZZZZZZZZZZZ";
const OTHER_ID = "msg_01HZZZZZZZZZZZZZZZZZZZZZZ1";

interface Call {
  readonly events: readonly OutboundEvent[];
  readonly answer: (...results: readonly PublishResult[]) => void;
  readonly fail: (error: Error) => void;
}

interface State {
  message?: MessageRef;
}

function game() {
  const trivia = createGame({ name: "trivia", state: (): State => ({}) });
  trivia.command("create", "posts a message", (turn, [text = ""]) => {
    turn.state.message = turn.reply(text);
  });
  trivia.command("update", "replaces the message, or another one", (turn, [text = "", message]) => {
    const target = message === undefined ? turn.state.message : (`${message}@c1` as const);
    if (target !== undefined) turn.update(text, target);
  });
  trivia.command("notice", "shows notices about the message, and about an unknown message", (turn) => {
    const content = { text: "notice", data: { answer: 2 } };
    turn.ephemeral(content, turn.user.id, { about: turn.state.message });
    turn.ephemeral(content, turn.user.id, { about: "999@c1" });
  });
  trivia.command("many", "posts messages", (turn, [count]) => {
    for (let i = 0; i < Number(count); i++) turn.reply(String(i));
  });
  return trivia;
}

/** Starts a game. The test acts as core, and answers the game's calls one by one. */
function start() {
  const calls: Call[] = [];
  const acked: string[] = [];
  const logged: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  let listener: FollowListener | undefined;
  const link: CoreLink = {
    follow: (follower) => (listener = follower),
    ack: (ids) => acked.push(...ids),
    nack: () => undefined,
    extend: () => undefined,
    deadLetter: () => undefined,
    publish: (events) =>
      new Promise((resolve, reject) => {
        calls.push({ events, answer: (...results) => resolve(results), fail: reject });
      }),
    pause: () => undefined,
    close: () => Promise.resolve(),
  };
  const logAs =
    (level: string) =>
    (fields: object, message: string): void =>
      void logged.push({ level, fields, message });
  const clock = new VirtualClock();
  const store = memoryStore();
  const run = new GameRun(game(), {
    link,
    store,
    clock,
    group: "g",
    log: { info: logAs("info"), warn: logAs("warn"), error: logAs("error") },
  });
  run.run();
  listener?.opened({ streamId: "", shards: 1 });
  let deliveries = 0;

  /** Delivers commands of a workspace, in order. */
  function deliver(texts: readonly string[], workspaceId = "w1", attempt = 1): void {
    for (const text of texts) {
      const event = InboundEvent.create({
        channel: { id: "c1" },
        user: { id: "u1", name: "Ann" },
        kind: { $case: "command", value: { text } },
      });
      const received = { workspaceId, receivedAt: new Date(clock.now()), event };
      listener?.delivered(Delivery.create({ deliveryId: `k${++deliveries}`, attempt, received }));
    }
  }
  /** Delivers the given commands again, with the ids of the first deliveries. */
  function redeliver(texts: readonly string[]): void {
    deliveries = 0;
    deliver(texts, "w1", 2);
  }
  return {
    deliver,
    redeliver,
    clock,
    store,
    run,
    acked,
    logged,
    calls,
    call: (i: number) => until(`call ${i}`, () => calls[i]),
  };
}

const shown = ({ events }: Call): readonly string[] =>
  events.map(({ idempotencyKey, content }) => {
    const { id, text } = content?.value.message ?? {};
    return `${idempotencyKey} ${id ?? ""} ${text ?? ""}`;
  });

test("a failed call is repeated with the same idempotency keys before any other call; an update waits for its message's id", async () => {
  const { deliver, redeliver, call, acked, clock, run } = start();
  deliver(["create lobby"]);
  const first = await call(0);
  deliver(["update question"]);
  first.fail(new CoreRejects("core rejects this game"));
  await run.settled();
  clock.advance(1_000);
  const again = await call(1);
  expect(again.events).toEqual(first.events);
  expect([acked, shown(again)]).toEqual([[], ["g/k1/0/c  lobby"]]);
  again.answer(published(MESSAGE_ID));
  await run.settled();
  redeliver(["create lobby", "update question"]);
  const last = await call(2);
  expect(shown(last)).toEqual([`g/k2/0/u ${MESSAGE_ID} question`]);
  last.answer(published(MESSAGE_ID));
  await run.settled();
  expect(acked).toEqual(["k1", "k2"]);
});

test("a waiting update is replaced by the next update of the same message in the same workspace", async () => {
  const { deliver, call, acked } = start();
  deliver(["create lobby"]);
  const first = await call(0);
  deliver([`update one ${MESSAGE_ID}`]);
  deliver([`update other ${MESSAGE_ID}`], "w2");
  deliver([`update two ${MESSAGE_ID}`]);
  const other = await call(1);
  expect(shown(other)).toEqual([`g/k3/0/u ${MESSAGE_ID} other`]);
  other.answer(published(MESSAGE_ID));
  first.answer(published(OTHER_ID));
  const last = await call(2);
  expect(shown(last)).toEqual([`g/k4/0/u ${MESSAGE_ID} two`]);
  expect(acked.toSorted()).toEqual(["k1", "k3"]);
  last.answer(published(MESSAGE_ID));
  await until("all acks", () => (acked.length === 4 ? true : undefined));
});

test("the data of a notice contains the id of the message that it is about, or no id if the id is unknown", async () => {
  const { deliver, call, run } = start();
  deliver(["create lobby", "notice"]);
  (await call(0)).answer(published(MESSAGE_ID));
  const { events, answer } = await call(1);
  const data = events.map(({ content }) => content?.value.message?.data);
  expect(data).toEqual([{ about: MESSAGE_ID, answer: 2 }, { answer: 2 }]);
  answer(published("msg_2"), published("msg_3"));
  await run.settled();
});

test("a call contains at most 100 events, in order", async () => {
  const { deliver, call, run } = start();
  deliver(["many 75", "many 75"]);
  for (const [i, [size, key]] of (
    [
      [100, "g/k1/0/c"],
      [50, "g/k2/25/c"],
    ] as const
  ).entries()) {
    const { events, answer } = await call(i);
    expect([events.length, events[0]?.idempotencyKey]).toEqual([size, key]);
    answer(...events.map(() => published(MESSAGE_ID)));
  }
  await run.settled();
});

test.each<[string, (call: Call) => void, object]>([
  [
    "the event that creates the message",
    ({ answer }) => answer(refused(PublishRefusal.INVALID)),
    { workspaceId: "w1", field: "f" },
  ],
  [
    "the call that creates the message",
    ({ fail }) => fail(new CoreRejects("why not", "call")),
    { workspaceId: "w1", error: "why not" },
  ],
])(
  "updates of a message are not sent if core rejects %s, but later events are sent",
  async (_what, end, why) => {
    const { deliver, call, calls, acked, logged, run } = start();
    deliver(["create lobby", "update again"]);
    end(await call(0));
    await run.settled();
    deliver(["create next"]);
    (await call(1)).answer(published(OTHER_ID));
    await run.settled();
    expect([calls.length, acked]).toEqual([2, ["k1", "k2", "k3"]]);
    const errors = logged.filter(({ level }) => level === "error");
    expect(errors.map(({ fields }) => fields)).toEqual([expect.objectContaining(why)]);
    // The text of an event is never logged.
    expect(JSON.stringify(logged)).not.toContain("lobby");
  },
);

test("the state of a workspace that core does not know is kept, and its event is acked", async () => {
  const { deliver, call, store, acked, run } = start();
  deliver(["create lobby"], "w7");
  (await call(0)).answer(refused(PublishRefusal.UNKNOWN_WORKSPACE));
  await run.settled();
  expect((await store.load("w7"))?.document.states[""]).toEqual({ message: "1@c1" });
  expect(acked).toEqual(["k1"]);
});
