import { TIMESTAMP_TOLERANCE_SECONDS } from "../../contract/numbers";
import { nowSeconds, post, signatureOf, type Answer } from "../harness/bridge";
import { startConsumer, type Consumer, type Seen } from "../harness/consumer";
import type { CoreClients } from "../harness/core-clients";
import type { TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import type { Fill, World } from "./contents";

/** A request of a bridge. Repeats of a request must be ignored, even after an upgrade. */
interface Posted {
  readonly workspace: string;
  readonly text: string;
  /** Whether a repeat is too late. Its signature is as old as the request, and is accepted for only five minutes. */
  isTooLate(): boolean;
  repeat(): Promise<Answer>;
}

const REPEATED_WITHIN_MS = TIMESTAMP_TOLERANCE_SECONDS * 1000 - 60_000;

/** Posts a message with an id. A repeat has a new signature. */
async function postWithId({ url }: World, workspace: TestWorkspace, text: string): Promise<Posted> {
  const event = { type: "message", id: `id of ${text}`, channel: "c", user: { id: "u" }, text };
  const repeat = () => post(url, workspace, event);
  expect((await repeat()).status).toBe(202);
  return { workspace: workspace.id, text, isTooLate: () => false, repeat };
}

/** Posts a message without an id. A repeat consists of the same bytes with the same signature. */
async function postWithoutId({ url }: World, workspace: TestWorkspace, text: string): Promise<Posted> {
  const body = JSON.stringify({ type: "command", channel: "c", user: { id: "u" }, text });
  const headers = { "Service-Signature": signatureOf(workspace.secret, body, nowSeconds()) };
  const repeat = () => post(url, workspace, body, { headers });
  const from = performance.now();
  expect((await repeat()).status).toBe(202);
  const isTooLate = () => performance.now() - from > REPEATED_WITHIN_MS;
  return { workspace: workspace.id, text, isTooLate, repeat };
}

/** The events that a group has received from all releases. */
class Group {
  readonly #name: string;
  readonly #ours: ReadonlySet<string>;
  /** The acked texts. */
  readonly #acked = new Set<string>();
  /** The last delivery of each text. */
  readonly #deliveries = new Map<string, Seen>();
  #consumer: Consumer | undefined;
  #read = 0;

  constructor(name: string, workspaces: readonly TestWorkspace[]) {
    this.#name = name;
    this.#ours = new Set(workspaces.map(({ id }) => id));
  }

  async open({ games }: CoreClients, window: number): Promise<void> {
    this.#read = 0;
    this.#consumer?.cancel();
    const consumer = startConsumer(games, { group: this.#name, window, ackDeadline: { seconds: 600 } });
    this.#consumer = await consumer.opened();
  }

  /** Acks the first unacked deliveries. */
  ack(count: number): void {
    const first = [...this.#deliveries.values()].filter(({ text }) => !this.#acked.has(text)).slice(0, count);
    for (const { text } of first) this.#acked.add(text);
    this.#consumer?.ack(...first);
  }

  /** Waits for `count` deliveries since `open`. Acks the deliveries for other workspaces, which the load has posted. */
  async #receive(count: (texts: ReadonlySet<string>) => boolean): Promise<readonly Seen[]> {
    const consumer = this.#consumer;
    if (consumer === undefined) throw new Error("the group is not open");
    const received: Seen[] = [];
    await until(`group ${this.#name} receives its events`, () => {
      if (consumer.end !== undefined) throw new Error(`the stream ended: ${JSON.stringify(consumer.end)}`);
      const fresh = consumer.seen.slice(this.#read);
      this.#read += fresh.length;
      const others = fresh.filter(({ workspaceId }) => !this.#ours.has(workspaceId));
      if (others.length > 0) consumer.ack(...others);
      received.push(...fresh.filter(({ workspaceId }) => this.#ours.has(workspaceId)));
      return count(new Set(received.map(({ text }) => text)));
    });
    return received;
  }

  /** Waits until the group has received `count` events, and records the events. */
  async sees(count: number): Promise<void> {
    for (const each of await this.#receive((texts) => texts.size >= count))
      this.#deliveries.set(each.text, each);
  }

  /** Fails unless the group receives exactly the unacked events, in order, under the same ids, with higher attempts. */
  async receivesAll(posted: readonly Posted[]): Promise<void> {
    const wanted = posted.filter(({ text }) => !this.#acked.has(text));
    const received = await this.#receive((texts) => wanted.every(({ text }) => texts.has(text)));
    for (const workspace of this.#ours) {
      const texts = received.filter(({ workspaceId }) => workspaceId === workspace).map(({ text }) => text);
      const expected = wanted.filter((each) => each.workspace === workspace).map(({ text }) => text);
      expect([this.#name, texts]).toEqual([this.#name, expected]);
    }
    for (const each of received) {
      const before = this.#deliveries.get(each.text);
      if (before !== undefined) expect([each.text, each.id]).toEqual([each.text, before.id]);
      expect([each.text, each.attempt > (before?.attempt ?? 0)]).toEqual([each.text, true]);
      this.#deliveries.set(each.text, each);
    }
  }
}

/**
 * Groups of followers with unread, unacked and acked events, and requests with and without ids, whose repeats are
 * ignored.
 */
export const followed: Fill = async (world) => {
  const { workspaces, clients } = world;
  const bridges = [
    await workspaces.make({ name: "followed" }),
    await workspaces.make({ name: "followed too" }),
  ];
  const posted: Posted[] = [];
  const send = async (name: string): Promise<void> => {
    for (const [place, bridge] of bridges.entries()) {
      for (let i = 0; i < 4; i++) posted.push(await postWithId(world, bridge, `${name} ${place}.${i}`));
      posted.push(await postWithoutId(world, bridge, `${name} ${place} without an id`));
    }
  };
  const half = new Group("half", bridges);
  const unread = new Group("unread", bridges);
  await half.open(clients, 5);
  await unread.open(clients, 1);
  await send("from the release before");
  await half.sees(5);
  half.ack(2);
  await half.sees(2);
  let rounds = 0;
  return {
    async check() {
      await Promise.all([half.open(clients, 1000), unread.open(clients, 1000)]);
      for (const { text, repeat } of posted.filter((each) => !each.isTooLate()))
        expect([text, (await repeat()).status]).toEqual([text, 202]);
      // These events come after the repeats, so a repeat that is not ignored is received before them.
      await send(`round ${++rounds}`);
      await Promise.all([half.receivesAll(posted), unread.receivesAll(posted)]);
    },
    async add() {
      half.ack(3);
      unread.ack(1);
      await send("from this release");
    },
  };
};
