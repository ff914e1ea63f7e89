import { status } from "@grpc/grpc-js";
import { pino } from "pino";
import type { CoreClient } from "../../demo/game/grpc/core-client";
import { Publisher } from "../../demo/game/grpc/publisher";
import type { Output } from "../../demo/game/rules/input-output";
import { PublishRefusal, PublishResult, type OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { until } from "../harness/wait";

const CREATE: Output = { type: "message.create", channel: "c1", ref: "game", content: { text: "lobby" } };
const createOf = (text: string): Output => ({ type: "message.create", channel: "c1", content: { text } });
const update = (text: string, target: { ref: string } | { messageId: string } = { ref: "game" }): Output => ({
  type: "message.update",
  channel: "c1",
  target,
  content: { text },
});

const published = (messageId: string): PublishResult =>
  PublishResult.create({ outcome: { $case: "published", value: { messageId } } });
const refused = (reason: PublishRefusal): PublishResult =>
  PublishResult.create({ outcome: { $case: "refused", value: { reason, field: "f" } } });

const NEVER = status.INVALID_ARGUMENT;

interface Call {
  readonly events: readonly OutboundEvent[];
  readonly answer: (...results: readonly PublishResult[]) => void;
  readonly fail: (code?: status) => void;
}

/** Starts a publisher. The test acts as core, and answers the publisher's calls one by one. */
function start() {
  const calls: Call[] = [];
  const core: CoreClient = {
    publishEvents: (events) =>
      new Promise((resolve, reject) => {
        const fail = (code = status.UNAVAILABLE): void =>
          reject(Object.assign(new Error("no"), { code, details: "why not" }));
        calls.push({ events, answer: (...results) => resolve(results), fail });
      }),
    follow: () => {
      throw new Error("this test does not follow events");
    },
    close: () => undefined,
  };
  const gone: string[] = [];
  const logged: string[] = [];
  const publisher = new Publisher({
    core,
    group: "g",
    game: "trivia",
    log: pino({ base: null, timestamp: false }, { write: (line: string) => void logged.push(line) }),
    onUnknownWorkspace: (workspaceId) => gone.push(workspaceId),
  });
  let causes = 0;
  const settled: string[] = [];
  const publish = (outputs: readonly Output[], workspaceId = "w1") => {
    const cause = `k${++causes}`;
    return publisher.publish(workspaceId, cause, outputs).then(() => settled.push(cause));
  };
  return { publish, gone, logged, settled, calls, call: (i: number) => until(`call ${i}`, () => calls[i]) };
}

const shown = ({ events }: Call): readonly string[] =>
  events.map(({ idempotencyKey, content }) => {
    const { id, text } = content?.value.message ?? {};
    return `${idempotencyKey} ${id ?? ""} ${text ?? ""}`;
  });

test("a failed call is retried with the same idempotency keys before any other call; an update waits for its message's id", async () => {
  const { publish, call, settled } = start();
  const all = [publish([CREATE])];
  const first = await call(0);
  all.push(publish([update("question")]));
  first.fail();
  const again = await call(1);
  expect(again.events).toEqual(first.events);
  expect([settled, shown(again)]).toEqual([[], ["g/k1/0/message.create  lobby"]]);
  again.fail();
  (await call(2)).answer(published("msg_1"));
  const last = await call(3);
  expect(shown(last)).toEqual(["g/k2/0/message.update msg_1 question"]);
  last.answer(published("msg_1"));
  await Promise.all(all);
  expect(settled).toEqual(["k1", "k2"]);
});

test("a waiting update is replaced by the next update of the same message in the same workspace", async () => {
  const { publish, call, settled } = start();
  const target = { messageId: "msg_1" };
  const all = [publish([CREATE])];
  const first = await call(0);
  all.push(publish([update("one", target)]), publish([update("other", target)], "w2"));
  all.push(publish([update("two", target)]));
  const other = await call(1);
  expect(shown(other)).toEqual(["g/k3/0/message.update msg_1 other"]);
  other.answer(published("msg_1"));
  first.answer(published("msg_9"));
  const last = await call(2);
  expect(shown(last)).toEqual(["g/k4/0/message.update msg_1 two"]);
  expect(settled.toSorted()).toEqual(["k1", "k2", "k3"]);
  last.answer(published("msg_1"));
  await Promise.all(all);
});

test("the data of a notice contains the id of the message that the notice is about, or no id if that message has none", async () => {
  const { publish, call } = start();
  const about = (ref: string): Output => ({
    type: "message.ephemeral",
    channel: "c1",
    user: "u1",
    about: { ref },
    content: { text: "notice", data: { answer: 2 } },
  });
  const all = [publish([CREATE]), publish([about("game"), about("elsewhere")])];
  (await call(0)).answer(published("msg_1"));
  const { events, answer } = await call(1);
  const data = events.map(({ content }) => content?.value.message?.data);
  expect(data).toEqual([{ about: "msg_1", answer: 2 }, { answer: 2 }]);
  answer(published("msg_2"), published("msg_3"));
  await Promise.all(all);
});

test("a call carries at most 100 events, in order", async () => {
  const { publish, call } = start();
  const done = publish(Array.from({ length: 150 }, (_, i) => createOf(String(i))));
  for (const [i, size] of [100, 50].entries()) {
    const { events, answer } = await call(i);
    expect([events.length, events[0]?.idempotencyKey]).toEqual([size, `g/k1/${i * 100}/message.create`]);
    answer(...events.map(() => published("msg_1")));
  }
  await done;
});

test.each<[string, (call: Call) => void, object]>([
  [
    "rejects the event that creates the message",
    ({ answer }) => answer(refused(PublishRefusal.INVALID)),
    { workspaceId: "w1", field: "f" },
  ],
  ["rejects the call that creates the message", ({ fail }) => fail(NEVER), { details: "why not" }],
])("updates of a message are not sent if core %s, but later events are sent", async (_what, end, why) => {
  const { publish, call, calls, settled, logged } = start();
  const all = [publish([CREATE]), publish([update("an update of the rejected message")])];
  end(await call(0));
  await Promise.all(all);
  const next = publish([{ ...CREATE, ref: "next" }]);
  (await call(1)).answer(published("msg_2"));
  await next;
  expect([calls.length, settled]).toEqual([2, ["k1", "k2", "k3"]]);
  const fault = { level: 50, ...why };
  expect(logged.map((line) => JSON.parse(line) as object)).toEqual([expect.objectContaining(fault)]);
  // The text of an event is never logged.
  expect(logged.join("")).not.toContain("lobby");
});

const PASSING = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.UNAUTHENTICATED, status.INTERNAL];
test.each(PASSING)(
  "a call that fails with the gRPC status %i is retried; an unknown workspace is reported",
  async (code) => {
    const { publish, call, gone } = start();
    const done = publish([CREATE], "w7");
    (await call(0)).fail(code);
    (await call(1)).answer(refused(PublishRefusal.UNKNOWN_WORKSPACE));
    await done;
    expect(gone).toEqual(["w7"]);
  },
);
