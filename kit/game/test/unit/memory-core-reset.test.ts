import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../../../../proto/gen/chatbridge/v1/game";
import { MemoryCore } from "../../testing/memory-core";
import { VirtualClock } from "../../testing/virtual-clock";

const WORKSPACE = "00000000-0000-4000-8000-000000000001";
const OPEN = { group: "dice", consumer: "c", window: 10, ackDeadlineMs: 30_000, assignments: false };

function start() {
  const core = new MemoryCore(new VirtualClock());
  core.addWorkspace(WORKSPACE);
  const delivered: string[] = [];
  const ended: string[] = [];
  const stream = core.openStream(
    OPEN,
    (say) => void (say.$case === "delivery" && delivered.push(say.value.deliveryId)),
    (code) => void ended.push(code),
  );
  const type = () =>
    core.receive(WORKSPACE, {
      channel: { id: "room" },
      user: { id: "ada" },
      kind: { $case: "message", value: { text: "hi" } },
    });
  const message = { kind: MessageKind.CARD, text: "hi" };
  const content = { $case: "messageCreate" as const, value: { channel: "room", message } };
  const publish = () =>
    core.publish([OutboundEvent.create({ workspaceId: WORKSPACE, content, idempotencyKey: "k" })])[0]
      ?.outcome;
  return { core, stream, delivered, ended, type, publish };
}

// time: controlled
test("a reset forgets messages, events, keys, findings and faults, but keeps streams and does not reuse ids", () => {
  const { core, delivered, ended, type, publish } = start();
  type();
  const before = publish();
  core.setUnavailable(true);
  core.reset();
  expect([core.pending, core.report(), core.workspace(WORKSPACE)?.messages]).toEqual([0, [], []]);
  const after = publish();
  expect(after).toMatchObject({ $case: "published", value: { repeated: false, sequence: 1 } });
  expect(after).not.toMatchObject({
    value: { messageId: before?.$case === "published" && before.value.messageId },
  });
  type();
  expect([delivered.length, ended]).toEqual([2, []]);
});

test("a reset forgets groups without a stream, so the next events do not wait for acks of a stopped game", () => {
  const { core, stream, type } = start();
  type();
  stream.close();
  core.reset();
  expect(core.groups).toEqual([]);
  type();
  expect([core.pending, core.report()]).toEqual([0, []]);
});

test("core counts the streams of each group, and the events without an ack", () => {
  const { core, stream, delivered, type } = start();
  type();
  type();
  expect([core.groups, core.pending]).toEqual([[{ name: "dice", streams: 1 }], 2]);
  stream.ack(delivered);
  stream.close();
  expect([core.groups, core.pending]).toEqual([[{ name: "dice", streams: 0 }], 0]);
});

test("an event that cannot be decoded is refused, and its fault is reported", () => {
  const { core } = start();
  const fault = { field: "message_create.channel", message: "message_create.channel is not UTF-8" };
  expect(core.refuse(fault).outcome).toMatchObject({ $case: "refused", value: fault });
  expect(core.report()).toMatchObject([{ code: "invalid-event", count: 1 }]);
});
