import { shardOf } from "../../../../core/domain/shard";
import type { InboundEvent } from "../../../../proto/gen/chatbridge/v1/event";
import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import {
  OutboundEvent,
  PublishRefusal,
  type Delivery,
  type FollowResponse,
} from "../../../../proto/gen/chatbridge/v1/game";
import { MemoryCore, SHARDS, type MemoryStream, type StreamOpen } from "../../testing/memory-core";
import { VirtualClock } from "../../testing/virtual-clock";

const ONE = "00000000-0000-4000-8000-000000000001";
const TWO = "00000000-0000-4000-8000-000000000002";
const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Workspaces of the shards 8 to 15, which move to a second stream. */
const MOVING = Array.from(
  { length: 100 },
  (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
).filter((id) => shardOf(id, SHARDS) >= 8);

interface Follower {
  readonly stream: MemoryStream;
  readonly said: NonNullable<FollowResponse["say"]>[];
  readonly ends: string[];
  readonly deliveries: readonly Delivery[];
  /** The texts of the deliveries, each with its attempt if it is not the first: "a", "a#2". */
  readonly texts: readonly string[];
  /** The newest delivery id of a text. */
  id(text: string): string;
}

function setUp() {
  const clock = new VirtualClock();
  const core = new MemoryCore(clock);
  core.addWorkspace(ONE);
  core.addWorkspace(TWO);

  function follow(consumer = "a", open: Partial<StreamOpen> = {}): Follower {
    const said: NonNullable<FollowResponse["say"]>[] = [];
    const ends: string[] = [];
    const stream = core.openStream(
      { group: "dice", consumer, window: 100, ackDeadlineMs: 30_000, assignments: true, ...open },
      (say) => said.push(say),
      (code) => ends.push(code),
    );
    const deliveries = () => said.flatMap((say) => (say.$case === "delivery" ? say.value : []));
    return {
      stream,
      said,
      ends,
      get deliveries() {
        return deliveries();
      },
      get texts() {
        return deliveries().map((each) => `${textOf(each)}${each.attempt > 1 ? `#${each.attempt}` : ""}`);
      },
      id: (text) => deliveries().findLast((each) => textOf(each) === text)?.deliveryId ?? "",
    };
  }

  function type(text: string, workspace = ONE): void {
    core.receive(workspace, typed(text));
  }

  return { clock, core, follow, type };
}

function typed(text: string, channel = "room"): InboundEvent {
  return { channel: { id: channel }, user: { id: "ada" }, kind: { $case: "message", value: { text } } };
}

function textOf({ received }: Delivery): string {
  const kind = received?.event?.kind;
  return kind?.$case === "message" ? kind.value.text : "";
}

/** Returns the shards that a stream owns according to its assignments. */
function shardsOf({ said }: Follower): readonly number[] {
  const owned = new Set<number>();
  for (const say of said) {
    if (say.$case !== "assignment") continue;
    for (const shard of say.value.gained) owned.add(shard);
    for (const shard of say.value.lost) owned.delete(shard);
  }
  return [...owned].toSorted((a, b) => a - b);
}

function create(text: string, more: Partial<OutboundEvent> = {}): OutboundEvent {
  const message = { id: "", kind: MessageKind.CARD, text, rows: [], awaitsReply: false };
  return OutboundEvent.fromPartial({
    workspaceId: ONE,
    content: { $case: "messageCreate", value: { channel: "room", message } },
    ...more,
  });
}

function update(id: string, text: string, channel = "room"): OutboundEvent {
  const message = { id, kind: MessageKind.CARD, text, rows: [], awaitsReply: false };
  return OutboundEvent.fromPartial({
    workspaceId: ONE,
    content: { $case: "messageUpdate", value: { channel, message } },
  });
}

function codes(core: MemoryCore): readonly string[] {
  return core.report().map(({ code }) => code);
}

describe("streams", () => {
  it("sends the id of the stream first, then all shards, then the events", () => {
    const { follow, type } = setUp();
    const a = follow();
    type("x");
    expect(a.said.map(({ $case }) => $case)).toEqual(["opened", "assignment", "delivery"]);
    expect(a.said[0]?.value).toEqual({
      streamId: expect.stringMatching(/^dice\/[0-9a-f-]{36}$/),
      shards: 16,
    });
    expect(shardsOf(a)).toEqual(ALL_SHARDS);
  });

  it("collects events for a group from its first stream on, even while the group has no stream", () => {
    const { follow, type } = setUp();
    type("before");
    const a = follow();
    a.stream.close();
    type("between");
    expect(follow().texts).toEqual(["between"]);
  });

  it("redelivers unacked events when a stream ends", () => {
    const { core, follow, type } = setUp();
    const a = follow();
    type("x");
    type("y");
    a.stream.ack([a.id("x")]);
    core.endStreams();
    expect(a.ends).toEqual(["UNAVAILABLE"]);
    const b = follow("b");
    expect(b.texts).toEqual(["y#2"]);
    a.stream.ack([a.id("y")]);
    b.stream.close();
    expect(follow().texts).toEqual(["y#3"]);
  });

  it("ends a stream with ABORTED when its consumer opens another stream", () => {
    const { follow } = setUp();
    const a = follow("a");
    const b = follow("a");
    expect(a.ends).toEqual(["ABORTED"]);
    expect(shardsOf(b)).toEqual(ALL_SHARDS);
  });

  it("moves half of the shards to a second stream, and back when the second stream closes", () => {
    const { follow } = setUp();
    const a = follow("a");
    const b = follow("b");
    expect(shardsOf(a)).toHaveLength(8);
    expect([...shardsOf(a), ...shardsOf(b)].toSorted((x, y) => x - y)).toEqual(ALL_SHARDS);
    b.stream.close();
    expect(shardsOf(a)).toEqual(ALL_SHARDS);
  });

  it("moves a shard only once its events are acked or their deadline has passed", () => {
    const { clock, core, follow, type } = setUp();
    const a = follow("a");
    const [first = "", second = ""] = MOVING;
    for (const id of [first, second]) core.addWorkspace(id);
    type("x", first);
    type("y", second);
    const b = follow("b");
    expect(shardsOf(b)).toHaveLength(6);
    type("x2", first);
    expect([...a.texts, ...b.texts]).toEqual(["x", "y"]);
    a.stream.ack([a.id("x")]);
    expect(b.texts).toEqual(["x2"]);
    expect(shardsOf(b)).toHaveLength(7);
    clock.advance(30_000);
    expect(b.texts.toSorted()).toEqual(["x2", "x2#2", "y#2"]);
    expect([...shardsOf(a), ...shardsOf(b)].toSorted((x, y) => x - y)).toEqual(ALL_SHARDS);
  });

  it("moves a shard without waiting for acks of events that have been behind other events for the whole deadline", () => {
    const { clock, core, follow, type } = setUp();
    const a = follow("a");
    const [moving = ""] = MOVING;
    core.addWorkspace(moving);
    type("x", moving);
    type("y", moving);
    const b = follow("b");
    for (let i = 0; i < 3; i++) {
      clock.advance(10_000);
      a.stream.extend([a.id("x")]);
    }
    expect(b.texts).toEqual([]);
    a.stream.ack([a.id("x")]);
    expect(b.texts).toEqual(["y#2"]);
  });

  it("has at most as many unacked events as the window allows, and delivers one event of each workspace in turn", () => {
    const { core, follow, type } = setUp();
    const a = follow("a", { window: 3 });
    core.setSlow(1);
    for (const text of ["a", "b", "c", "d"]) type(text, ONE);
    for (const text of ["x", "y"]) type(text, TWO);
    expect(a.texts).toEqual(["a"]);
    core.setSlow(undefined);
    expect(a.texts).toHaveLength(3);
    expect(a.texts).toContain("x");
    a.stream.ack([a.id("a")]);
    expect(a.texts).toHaveLength(4);
  });

  it("delivers nothing to a paused stream", () => {
    const { follow, type } = setUp();
    const a = follow();
    a.stream.pause();
    type("x");
    expect(a.texts).toEqual([]);
    a.stream.close();
    expect(follow().texts).toEqual(["x"]);
  });
});

describe("deadlines", () => {
  it("redelivers an event and the later events of its workspace when the event's deadline passes", () => {
    const { clock, core, follow, type } = setUp();
    const a = follow();
    type("x");
    type("y");
    type("other", TWO);
    a.stream.ack([a.id("other")]);
    clock.advance(29_999);
    expect(a.texts).toEqual(["x", "y", "other"]);
    clock.advance(1);
    expect(a.texts).toEqual(["x", "y", "other", "x#2", "y#2"]);
    expect(codes(core)).toEqual(["late-ack", "unacked"]);
  });

  it("starts the deadline of an event only when the event before it is acked", () => {
    const { clock, follow, type } = setUp();
    const a = follow();
    type("x");
    type("y");
    clock.advance(20_000);
    a.stream.ack([a.id("x")]);
    clock.advance(29_999);
    expect(a.texts).toEqual(["x", "y"]);
    clock.advance(1);
    expect(a.texts).toEqual(["x", "y", "y#2"]);
  });

  it("extends a deadline for at most 10 minutes", () => {
    const { clock, follow, type } = setUp();
    const a = follow();
    type("x");
    for (let i = 0; i < 30; i++) {
      clock.advance(20_000);
      a.stream.extend([a.id("x")]);
    }
    expect(a.texts).toEqual(["x"]);
    clock.advance(20_000);
    a.stream.extend([a.id("x")]);
    clock.advance(10_000);
    expect(a.texts).toEqual(["x", "x#2"]);
  });

  it("delays the later events of the workspace too after a nack with a delay", () => {
    const { clock, follow, type } = setUp();
    const a = follow();
    type("x");
    type("y");
    a.stream.nack([a.id("x")], 60_000);
    type("z");
    type("other", TWO);
    clock.advance(59_999);
    expect(a.texts).toEqual(["x", "y", "other", "other#2"]);
    clock.advance(1);
    expect(a.texts.slice(4)).toEqual(["x#2", "y#2", "z", "other#3"]);
  });

  it("redelivers at once after a nack without a delay", () => {
    const { follow, type } = setUp();
    const a = follow();
    type("x");
    type("y");
    a.stream.nack([a.id("y")], 0);
    expect(a.texts).toEqual(["x", "y", "y#2"]);
  });

  it("acks a dead letter, and reports it", () => {
    const { core, follow, type } = setUp();
    const a = follow();
    type("x");
    a.stream.deadLetter(a.id("x"), "no such round");
    a.stream.close();
    expect(follow().texts).toEqual([]);
    expect(core.report()).toEqual([expect.objectContaining({ code: "dead-letter", count: 1 })]);
  });

  it("redelivers the newest event, acked or not", () => {
    const { core, follow, type } = setUp();
    const a = follow();
    expect(core.redeliver()).toBe(false);
    type("x");
    expect(core.redeliver()).toBe(true);
    a.stream.ack([a.id("x")]);
    core.redeliver();
    expect(a.texts).toEqual(["x", "x#2", "x#3"]);
  });
});

describe("publishing", () => {
  it("returns ids in the form of the contract, and increasing sequences", () => {
    const { core } = setUp();
    const [first, second] = core.publish([create("a"), create("b")]);
    expect(first?.outcome?.value).toMatchObject({
      eventId: expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/),
      messageId: expect.stringMatching(/^msg_[0-9A-HJKMNP-TV-Z]{26}$/),
      sequence: 1,
      repeated: false,
    });
    expect(second?.outcome?.value).toMatchObject({ sequence: 2 });
  });

  it("shows the newest version of a message", () => {
    const { core, type } = setUp();
    type("x");
    const [result] = core.publish([create("a")]);
    const id = result?.outcome?.$case === "published" ? result.outcome.value.messageId : "";
    core.publish([update(id, "b")]);
    const shown = core.workspace(ONE)?.messages;
    expect(shown).toMatchObject([{ id, place: "room", to: undefined, content: { text: "b" }, updates: 1 }]);
    expect(core.workspace(ONE)?.outbound.map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it("returns the first result of a repeated idempotency key for 24 hours", () => {
    const { clock, core } = setUp();
    const event = create("a", { idempotencyKey: "k" });
    const [first] = core.publish([event]);
    const [again] = core.publish([event]);
    expect(again?.outcome?.value).toEqual({ ...first?.outcome?.value, repeated: true });
    clock.advance(86_400_000);
    expect(core.publish([event])[0]?.outcome?.value).toMatchObject({ sequence: 2, repeated: false });
  });

  it.each([
    ["an empty text", create(" "), "message_create.message.text"],
    ["no content", OutboundEvent.fromPartial({ workspaceId: ONE }), "content"],
    ["an update without an id", update("", "x"), "message_update.message.id"],
    [
      "a stream id of another form",
      create("x", { fence: { streamId: "s", deliveryId: "", attempt: 0 } }),
      "fence.stream_id",
    ],
    ["more than 64 KB", create("x".repeat(70_000)), "message_create.message"],
    [
      "data that JSON cannot express",
      OutboundEvent.fromPartial({
        workspaceId: ONE,
        content: {
          $case: "dmCreate",
          value: { user: "ada", message: { kind: MessageKind.CARD, text: "x", data: { a: NaN } } },
        },
      }),
      "dm_create.message.data",
    ],
  ])("refuses %s", (_, event, field) => {
    const { core } = setUp();
    const [result] = core.publish([event]);
    expect(result?.outcome?.value).toMatchObject({ reason: PublishRefusal.INVALID, field });
    expect(core.report()[0]).toMatchObject({
      code: "invalid-event",
      example: expect.stringContaining(field),
    });
  });

  it("refuses events of an unknown or removed workspace", () => {
    const { core } = setUp();
    core.removeWorkspace(ONE);
    const results = core.publish([create("x"), create("x", { workspaceId: "none" })]);
    expect(results.map(({ outcome }) => outcome?.$case === "refused" && outcome.value.reason)).toEqual([
      PublishRefusal.UNKNOWN_WORKSPACE,
      PublishRefusal.UNKNOWN_WORKSPACE,
    ]);
  });

  it("refuses an event whose delivery was redelivered or acked, or whose stream has ended", () => {
    const { core, follow, type } = setUp();
    const a = follow();
    type("x");
    const [{ deliveryId, attempt } = { deliveryId: "", attempt: 0 }] = a.deliveries;
    const fence = { streamId: a.stream.streamId, deliveryId, attempt };
    const publish = (over: Partial<typeof fence> = {}) => {
      const [result] = core.publish([create("x", { fence: { ...fence, ...over } })]);
      return result?.outcome?.$case === "refused" ? result.outcome.value.reason : "published";
    };
    expect(publish()).toBe("published");
    expect(publish({ deliveryId: "", attempt: 0 })).toBe("published");
    a.stream.nack([deliveryId], 0);
    expect(publish()).toBe(PublishRefusal.STALE);
    expect(publish({ attempt: 2 })).toBe("published");
    a.stream.ack([deliveryId]);
    expect(publish({ attempt: 2 })).toBe(PublishRefusal.STALE);
    a.stream.close();
    expect(publish({ deliveryId: "", attempt: 0 })).toBe(PublishRefusal.STALE);
  });

  it("throws while it is unavailable, and for an empty call", () => {
    const { core } = setUp();
    expect(() => core.publish([])).toThrow("events must have 1 to 100 entries, not 0");
    core.setUnavailable(true);
    expect(() => core.publish([create("x")])).toThrow("core is unavailable");
    core.setUnavailable(false);
    expect(core.publish([create("x")])).toHaveLength(1);
  });
});

describe("members' events", () => {
  it.each([
    ["an empty channel id", typed("x", "")],
    ["an empty text", typed("")],
    ["the DM of another member", typed("x", "dm:bo")],
  ])("throws for %s", (_, event) => {
    const { core } = setUp();
    expect(() => core.receive(ONE, event)).toThrow();
  });

  it("throws for an unknown workspace", () => {
    const { core } = setUp();
    expect(() => core.receive("00000000-0000-4000-8000-000000000009", typed("x"))).toThrow("no workspace");
  });
});

describe("report", () => {
  it("reports updates that no chat shows", () => {
    const { core, type } = setUp();
    type("x");
    const [result] = core.publish([create("a")]);
    const id = result?.outcome?.$case === "published" ? result.outcome.value.messageId : "";
    core.publish([update(`msg_${"0".repeat(25)}9`, "x"), update(id, "x", "elsewhere")]);
    expect(codes(core)).toEqual(["unknown-message", "wrong-channel", "no-key", "no-fence"]);
    expect(core.workspace(ONE)?.messages).toMatchObject([{ content: { text: "a" } }]);
  });

  it("gives advice about texts that are too long for some chats, and about unknown channels", () => {
    const { core } = setUp();
    core.publish([create("x".repeat(2_001), { idempotencyKey: "k" })]);
    expect(codes(core)).toEqual(["no-fence", "long-text", "unknown-channel"]);
  });

  const AWAITING = {
    id: "",
    kind: MessageKind.QUESTION,
    text: "Which word?",
    rows: [],
    data: undefined,
    awaitsReply: true,
  };
  const asked = (channel: string): OutboundEvent["content"] => ({
    $case: "messageCreate",
    value: { channel, message: AWAITING },
  });
  const toldOnly = (user: string): OutboundEvent["content"] => ({
    $case: "messageEphemeral",
    value: { channel: "room", user, message: { ...AWAITING, awaitsReply: false } },
  });
  const others = (count: number) => Array.from({ length: count }, () => create("other").content);
  const askedOnly = (user: string): OutboundEvent["content"] => ({
    $case: "messageEphemeral",
    value: { channel: "room", user, message: AWAITING },
  });
  it.each([
    ["no message awaits a reply", "room", [], ["unheard-message"]],
    ["a message of the channel awaits a reply", "room", [asked("room")], []],
    ["a message of another channel awaits a reply", "room", [asked("hall")], ["unheard-message"]],
    ["a message for this member awaits a reply", "room", [askedOnly("ada")], []],
    ["a message for another member awaits a reply", "room", [askedOnly("bo")], ["unheard-message"]],
    ["the member writes in a DM", "dm:ada", [], []],
    ["four newer messages", "room", [asked("room"), ...others(4)], []],
    ["five newer messages", "room", [asked("room"), ...others(5)], ["unheard-message"]],
    ["a newer message for this member", "room", [askedOnly("ada"), toldOnly("ada")], ["unheard-message"]],
  ])("gives advice about events that follow a typed message: %s", (_when, channel, shown, found) => {
    const { core, follow } = setUp();
    const a = follow();
    for (const known of ["room", "hall"]) core.workspace(ONE)?.addChannel(known);
    for (const [i, content] of shown.entries()) {
      core.publish([OutboundEvent.fromPartial({ workspaceId: ONE, idempotencyKey: `shown ${i}`, content })]);
    }
    core.receive(ONE, typed("tiger", channel));
    const fence = { streamId: a.stream.streamId, deliveryId: a.id("tiger"), attempt: 1 };
    core.publish([create("Yes!", { fence, idempotencyKey: "answer" })]);
    a.stream.ack([a.id("tiger")]);
    expect(codes(core).filter((code) => code !== "no-fence")).toEqual(found);
  });

  it("counts the cases of a finding", () => {
    const { core } = setUp();
    core.publish([create(" "), create(" ")]);
    expect(core.report()).toEqual([
      expect.objectContaining({
        code: "invalid-event",
        count: 2,
        severity: "broken",
        advice: expect.any(String),
      }),
    ]);
  });
});

describe("bounds", () => {
  it("forgets the oldest messages, and ignores their updates", () => {
    const { core } = setUp();
    const events = Array.from({ length: 100 }, () => create("x"));
    const [first] = core.publish(events);
    const id = first?.outcome?.$case === "published" ? first.outcome.value.messageId : "";
    for (let i = 0; i < 20; i++) core.publish(events);
    core.publish([update(id, "y")]);
    expect(core.workspace(ONE)?.messages).toHaveLength(2_000);
    expect(core.workspace(ONE)?.outbound).toHaveLength(1_000);
    expect(codes(core)).not.toContain("unknown-message");
  });

  it("loses the oldest events of a group with more than 10,000 unacked events", () => {
    const { core, follow, type } = setUp();
    follow().stream.close();
    for (let i = 0; i < 10_001; i++) type(`${i}`);
    expect(follow("a", { window: 1 }).texts).toEqual(["1"]);
    expect(codes(core)).toContain("lost-backlog");
  });

  it("removes a group that has had no stream for 24 hours", () => {
    const { clock, follow, type } = setUp();
    follow().stream.close();
    type("x");
    clock.advance(86_400_000);
    expect(follow().texts).toEqual([]);
  });

  it("removes the group that has had no stream for the longest time when there are more than 64", () => {
    const { clock, follow, type } = setUp();
    for (let i = 0; i < 64; i++) {
      follow("a", { group: `g${i}` }).stream.close();
      clock.advance(1);
    }
    type("x");
    follow("a", { group: "new" });
    expect(follow("a", { group: "g0" }).texts).toEqual([]);
    expect(follow("a", { group: "g63" }).texts).toEqual(["x"]);
  });

  it("forgets the events of a removed workspace", () => {
    const { core, follow, type } = setUp();
    follow().stream.close();
    type("x");
    type("y", TWO);
    core.removeWorkspace(ONE);
    expect(follow().texts).toEqual(["y"]);
  });
});
