import { status } from "@grpc/grpc-js";
import { pino } from "pino";
import type { CoreClient } from "../../demo/game/grpc/core-client";
import { createMessageBook } from "../../demo/game/grpc/message-book";
import { createPublisher } from "../../demo/game/grpc/publisher";
import type { Output } from "../../demo/game/rules/output";
import { PublishRefusal, PublishResult, type OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { until } from "../harness/wait";

const CREATE: Output = { type: "message.create", channel: "c1", ref: "game", content: { text: "lobby" } };
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

/** A publisher over a core whose calls the test answers, one after the other. */
function start() {
  const calls: {
    readonly events: readonly OutboundEvent[];
    readonly answer: (...results: readonly PublishResult[]) => void;
    readonly fail: (code?: status) => void;
  }[] = [];
  const core: CoreClient = {
    publishEvents: (events) =>
      new Promise((resolve, reject) => {
        const fail = (code = status.UNAVAILABLE): void =>
          reject(Object.assign(new Error("no"), { code, details: "why not" }));
        calls.push({ events, answer: (...results) => resolve(results), fail });
      }),
    follow: () => {
      throw new Error("nothing follows here");
    },
    close: () => undefined,
  };
  const gone: string[] = [];
  const logged: string[] = [];
  const publisher = createPublisher({
    core,
    book: createMessageBook(),
    log: pino({ base: null, timestamp: false }, { write: (line: string) => void logged.push(line) }),
    onUnknownWorkspace: (workspaceId) => gone.push(workspaceId),
  });
  let keys = 0;
  const settled: string[] = [];
  return {
    publisher,
    gone,
    logged,
    settled,
    publish(output: Output, workspaceId = "w1") {
      const key = `k${++keys}`;
      const posting = { workspaceId, idempotencyKey: key, output };
      return publisher.publish(posting).then(() => settled.push(key));
    },
    call: (i: number) => until(`call ${i}`, () => calls[i]),
    calls,
  };
}

const shown = (events: readonly OutboundEvent[]): readonly string[] =>
  events.map(({ idempotencyKey, content }) => {
    const { id, text } = content?.value.message ?? {};
    return `${idempotencyKey} ${id ?? ""} ${text ?? ""}`;
  });

test("an update waits for the id that its message was created with", async () => {
  const { publish, call } = start();
  const all = [publish(CREATE), publish(update("question"))];
  const first = await call(0);
  expect(shown(first.events)).toEqual(["k1  lobby"]);
  first.answer(published("msg_1"));
  const second = await call(1);
  expect(shown(second.events)).toEqual(["k2 msg_1 question"]);
  second.answer(published("msg_1"));
  await Promise.all(all);
});

test("a call that core did not answer is made again with the same keys, before anything else", async () => {
  const { publish, call, settled } = start();
  const all = [publish(CREATE)];
  const first = await call(0);
  all.push(publish(update("question")));
  first.fail();
  const again = await call(1);
  expect(again.events).toEqual(first.events);
  expect(settled).toEqual([]);
  again.fail();
  (await call(2)).answer(published("msg_1"));
  (await call(3)).answer(published("msg_1"));
  await Promise.all(all);
  expect(settled).toEqual(["k1", "k2"]);
});

test("an update that waits is replaced by the next one of its message, in its workspace alone", async () => {
  const { publish, call } = start();
  const target = { messageId: "msg_1" };
  const all = [publish(CREATE)];
  const first = await call(0);
  all.push(
    publish(update("one", target)),
    publish(update("other", target), "w2"),
    publish(update("two", target)),
  );
  first.answer(published("msg_9"));
  const second = await call(1);
  expect(shown(second.events)).toEqual(["k3 msg_1 other", "k4 msg_1 two"]);
  second.answer(published("msg_1"), published("msg_1"));
  await Promise.all(all);
});

test("a call carries at most 100 events, in order", async () => {
  const { publish, call } = start();
  const all = Array.from({ length: 150 }, (_, i) =>
    publish({ type: "message.create", channel: "c1", content: { text: String(i) } }),
  );
  const sizes = [];
  for (const i of [0, 1]) {
    const { events, answer } = await call(i);
    sizes.push(events.length);
    expect(events[0]?.idempotencyKey).toBe(`k${1 + i * 100}`);
    answer(...events.map(() => published("msg_1")));
  }
  expect(sizes).toEqual([100, 50]);
  await Promise.all(all);
});

test("updates of a message that core refused are not sent, and those behind them are", async () => {
  const { publish, call, calls, settled } = start();
  const all = [publish(CREATE), publish(update("question"))];
  (await call(0)).answer(refused(PublishRefusal.INVALID));
  await Promise.all(all);
  const next = publish({ ...CREATE, ref: "next" });
  (await call(1)).answer(published("msg_2"));
  await next;
  expect([calls.length, settled]).toEqual([2, ["k1", "k2", "k3"]]);
});

test("an event that core will never take is given up, with the reason in the log and nothing of the event's body", async () => {
  const { publish, call, calls, settled, logged } = start();
  const all = [publish(CREATE), publish(update("of what was given up"))];
  (await call(0)).fail(status.INVALID_ARGUMENT);
  await Promise.all(all);
  const next = publish({ ...CREATE, ref: "next" });
  (await call(1)).answer(published("msg_2"));
  await next;
  expect([calls.length, settled]).toEqual([2, ["k1", "k2", "k3"]]);
  expect(logged.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: 50, code: "INVALID_ARGUMENT", details: "why not", workspaceId: "w1" }),
  ]);
  expect(logged.join("")).not.toContain("lobby");
});

test("an event that core will never take takes no other with it", async () => {
  const { publish, call, settled } = start();
  const all = ["one", "bad", "two"].map((text) =>
    publish({ type: "message.create", channel: "c1", content: { text } }),
  );
  (await call(0)).fail(status.INVALID_ARGUMENT);
  (await call(1)).answer(published("msg_1"));
  (await call(2)).fail(status.INVALID_ARGUMENT);
  const last = await call(3);
  expect(shown(last.events)).toEqual(["k3  two"]);
  last.fail(status.UNAVAILABLE);
  (await call(4)).answer(published("msg_3"));
  await Promise.all(all);
  expect(settled).toEqual(["k1", "k2", "k3"]);
});

test.each([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.UNAUTHENTICATED, status.INTERNAL])(
  "an event is not given up for the status %i, which passes",
  async (code) => {
    const { publish, call } = start();
    const done = publish(CREATE);
    (await call(0)).fail(code);
    (await call(1)).answer(published("msg_1"));
    await done;
  },
);

test("a workspace that is not there is told of", async () => {
  const { publish, call, gone } = start();
  const all = [publish(CREATE, "w7")];
  (await call(0)).answer(refused(PublishRefusal.UNKNOWN_WORKSPACE));
  await Promise.all(all);
  expect(gone).toEqual(["w7"]);
});
