import type { Delivery } from "../../../../proto/gen/chatbridge/v1/game";
import { OutboundEvent } from "../../../../proto/gen/chatbridge/v1/game";
import type { FollowListener } from "../../core-link";
import { MemoryCore, MemoryLink, VirtualClock } from "../../testing";

const WORKSPACE = "00000000-0000-4000-8000-000000000001";

/** A listener that records its calls, e.g. "opened", "gained 16" and "x#1". */
class Ear implements FollowListener {
  readonly heard: string[] = [];
  onDelivery: (delivery: Delivery) => void = () => undefined;

  opened(): void {
    this.heard.push("opened");
  }
  gained(shards: readonly number[]): void {
    this.heard.push(`gained ${shards.length}`);
  }
  lost(shards: readonly number[]): void {
    this.heard.push(`lost ${shards.length}`);
  }
  ended(): void {
    this.heard.push("ended");
  }
  delivered(delivery: Delivery): void {
    const kind = delivery.received?.event?.kind;
    this.heard.push(`${kind?.$case === "message" ? kind.value.text : ""}#${delivery.attempt}`);
    this.onDelivery(delivery);
  }
}

function setUp() {
  const clock = new VirtualClock();
  const core = new MemoryCore(clock);
  core.addWorkspace(WORKSPACE);
  const connect = (consumer: string, window = 100) => {
    const link = new MemoryLink(core, { group: "dice", consumer, window });
    const ear = new Ear();
    link.follow(ear);
    return { link, ear };
  };
  const type = (text: string): void => {
    const kind = { $case: "message", value: { text } } as const;
    core.receive(WORKSPACE, { channel: { id: "room" }, user: { id: "ada" }, kind });
  };
  return { clock, core, connect, type };
}

const event = OutboundEvent.fromPartial({
  workspaceId: WORKSPACE,
  content: { $case: "dmCreate", value: { user: "ada", message: { kind: 2, text: "x" } } },
});

describe("MemoryLink", () => {
  it("passes the stream, its shards and its deliveries to the listener", () => {
    const { connect, type } = setUp();
    const { link, ear } = connect("a");
    ear.onDelivery = ({ deliveryId }) => link.ack([deliveryId]);
    type("x");
    expect(ear.heard).toEqual(["opened", "gained 16", "x#1"]);
  });

  it("delivers a backlog in order if the listener acks each delivery at once", () => {
    const { core, connect, type } = setUp();
    connect("a").link.kill();
    for (const text of ["x", "y", "z"]) type(text);
    const link = new MemoryLink(core, { group: "dice", consumer: "b", window: 1 });
    const ear = new Ear();
    ear.onDelivery = ({ deliveryId }) => link.ack([deliveryId]);
    link.follow(ear);
    expect(ear.heard).toEqual(["opened", "gained 16", "x#1", "y#1", "z#1"]);
  });

  it("opens a new stream after a stream was lost", async () => {
    const { core, connect, type } = setUp();
    const { ear } = connect("a");
    type("x");
    core.endStreams();
    expect(ear.heard.at(-1)).toBe("ended");
    await Promise.resolve();
    expect(ear.heard.slice(3)).toEqual(["ended", "opened", "gained 16", "x#2"]);
  });

  it("opens no new stream after a process with the same name has replaced its process", async () => {
    const { connect } = setUp();
    const { ear } = connect("a");
    connect("a");
    await Promise.resolve();
    expect(ear.heard).toEqual(["opened", "gained 16", "ended"]);
  });

  it("delivers nothing after a pause, but still sends acks", async () => {
    const { core, connect, type } = setUp();
    const { link, ear } = connect("a");
    const ids: string[] = [];
    ear.onDelivery = ({ deliveryId }) => ids.push(deliveryId);
    type("x");
    link.pause();
    type("y");
    link.ack(ids);
    await link.close();
    expect(ear.heard.slice(2)).toEqual(["x#1", "ended"]);
    expect(core.report()).toEqual([]);
    expect(connect("b").ear.heard.slice(2)).toEqual(["y#1"]);
  });

  it("publishes as soon as core is available again", async () => {
    const { core, connect } = setUp();
    const { link } = connect("a");
    core.setUnavailable(true);
    const results = link.publish([event]);
    await Promise.resolve();
    expect(core.workspace(WORKSPACE)?.messages).toHaveLength(0);
    core.setUnavailable(false);
    expect(await results).toHaveLength(1);
  });

  it("rejects a publication in progress with LinkClosed when the link is closed", async () => {
    const { core, connect } = setUp();
    const { link } = connect("a");
    core.setUnavailable(true);
    const results = link.publish([event]).catch((error: unknown) => String(error));
    await link.close();
    expect(await results).toContain("LinkClosed");
    await expect(link.publish([event])).rejects.toThrow("the game has stopped");
  });

  it("rejects an invalid call", async () => {
    const { link } = setUp().connect("a");
    await expect(link.publish([])).rejects.toThrow("1 to 100");
  });
});

describe("VirtualClock", () => {
  it("runs timers in the order of their times, and timers with the same time in the order in which they were set", () => {
    const clock = new VirtualClock(0);
    const ran: string[] = [];
    const note = (name: string) => () => ran.push(`${name} at ${clock.now()}`);
    clock.at(20, note("c"));
    clock.at(10, () => {
      note("a")();
      clock.at(15, note("b"));
      clock.at(5, note("overdue"));
    });
    clock.at(20, note("d"));
    clock.at(12, note("cancelled"))();
    clock.at(31, note("later"));
    clock.advance(30);
    expect(ran).toEqual(["a at 10", "overdue at 10", "b at 15", "c at 20", "d at 20"]);
    expect(clock.now()).toBe(30);
  });

  it("lets work settle before the first timer and after each timer", async () => {
    const clock = new VirtualClock(0);
    const settledAt: number[] = [];
    clock.at(10, () => undefined);
    await clock.advanceSettled(30, async () => void settledAt.push(clock.now()));
    expect(settledAt).toEqual([0, 10]);
    expect(clock.now()).toBe(30);
  });
});
