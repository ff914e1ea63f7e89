import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { poll } from "../harness/bridge";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  connectToCore,
  createWorkspace,
  publish,
  textEvent,
  type CoreClients,
  type TestWorkspace,
} from "../harness/service";
import { until } from "../harness/wait";

const WRITERS = 8;
const CRASHES = 2;

let redis: TestRedis;
let core: TestProcess;
let edge: TestProcess;
let clients: CoreClients;
let startCoreAgain: () => Promise<TestProcess>;
beforeEach(async () => {
  redis = await startTestRedis();
  const corePort = await freePort();
  startCoreAgain = () => startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${corePort}` });
  core = await startCoreAgain();
  edge = await startEdge(corePort);
  clients = connectToCore(corePort);
});
afterEach(async () => {
  clients.close();
  await edge.stop();
  await core.stop();
  await redis.close();
});

interface Seen {
  readonly id: string;
  readonly sequence: number;
  readonly text: string;
}

interface Load {
  /** What publishing answered, once for each idempotency key. */
  readonly published: readonly Seen[];
  readonly repeats: () => number;
  finish(): Promise<void>;
}

const AGAIN: ReadonlySet<status> = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED]);

/** Publishes from game services that send a call again, with the same idempotency keys, when core is out of reach. */
function startLoad(workspace: TestWorkspace): Load {
  const published: Seen[] = [];
  let repeats = 0;
  const stopping = new AbortController();

  async function send(texts: readonly string[]): Promise<void> {
    const events = texts.map((text) => ({ ...textEvent(workspace.id, text), idempotencyKey: text }));
    const results = await publish(clients, ...events).catch((error: { code?: status }) => {
      if (error.code === undefined || !AGAIN.has(error.code)) throw error;
      return undefined;
    });
    if (results === undefined) {
      await sleep(50);
      return send(texts);
    }
    for (const [i, { outcome }] of results.entries()) {
      if (outcome?.$case !== "published") throw new Error("an event was refused");
      const { eventId, sequence, repeated } = outcome.value;
      if (repeated) repeats++;
      published.push({ id: eventId, sequence, text: texts[i] ?? "" });
    }
  }
  async function write(writer: number): Promise<void> {
    for (let i = 0; !stopping.signal.aborted; i++)
      await send([0, 1, 2].map((part) => `${writer}/${i}/${part}`));
  }
  const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  return {
    published,
    repeats: () => repeats,
    async finish() {
      stopping.abort();
      await writers;
    },
  };
}

/** Follows `next` until nothing more waits, as a bridge does, over crashes. */
async function pollAll(workspace: TestWorkspace, isOver: () => boolean): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  let cursor = "0";
  for (;;) {
    const over = isOver();
    const answer = await poll(`http://127.0.0.1:${edge.port}`, workspace, `after=${cursor}`);
    if (answer.status === 503 || answer.status === 429) {
      await sleep(Number(answer.headers["retry-after"]) * 1_000);
      continue;
    }
    expect(answer.status).toBe(200);
    const page = answer.json as {
      events: readonly { id: string; sequence: number; message: { text: string } }[];
      next: string;
      hasMore: boolean;
      gap: boolean;
    };
    expect(page.gap).toBe(false);
    seen.push(...page.events.map(({ id, sequence, message }) => ({ id, sequence, text: message.text })));
    cursor = page.next;
    if (page.hasMore) continue;
    if (over) return seen;
    await sleep(20);
  }
}

const CRASH: Readonly<Record<string, () => Promise<void>>> = {
  async core() {
    await core.stop("SIGKILL");
    core = await startCoreAgain();
  },
  async Redis() {
    await redis.kill();
    await redis.restart();
  },
};

// contract: envelope-sequence, poll-no-skip
test.each(Object.keys(CRASH))(
  "when %s is killed under load, polls serve everything that was published exactly once and in order",
  async (which) => {
    const workspace = await createWorkspace(clients);
    const load = startLoad(workspace);
    let over = false;
    const polled = pollAll(workspace, () => over);
    for (let crashes = 0; crashes < CRASHES; crashes++) {
      const before = load.published.length;
      await until("events are published", () => load.published.length >= before + 150, 30_000);
      await CRASH[which]?.();
      const after = load.published.length;
      await until("events are published again", () => load.published.length >= after + 75, 30_000);
    }
    await load.finish();
    over = true;

    const published = load.published.toSorted((a, b) => a.sequence - b.sequence);
    process.stdout.write(
      `${which} killed ${CRASHES} times: ${published.length} published, ${load.repeats()} of them answered again\n`,
    );
    expect(await polled).toEqual(published);
    expect(await pollAll(workspace, () => true)).toEqual(published);
  },
  90_000,
);
