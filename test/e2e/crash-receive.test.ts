import { setTimeout as sleep } from "node:timers/promises";
import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import { asBytes, asList } from "../../core/store/reply";
import { post } from "../harness/bridge";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, createWorkspace, type CoreClients, type TestWorkspace } from "../harness/service";
import { openTestStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const LOOPS = 20;
const CRASHES = 2;

let redis: TestRedis;
let core: TestProcess;
let edge: TestProcess;
let clients: CoreClients;
let startCoreAgain: () => Promise<TestProcess>;
let startEdgeAgain: () => Promise<TestProcess>;
beforeEach(async () => {
  redis = await startTestRedis();
  const [corePort, edgePort] = [await freePort(), await freePort()];
  startCoreAgain = () => startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${corePort}` });
  startEdgeAgain = () => startEdge(corePort, { EDGE_LISTEN: `127.0.0.1:${edgePort}` });
  core = await startCoreAgain();
  edge = await startEdgeAgain();
  clients = connectToCore(core.port);
});
afterEach(async () => {
  clients.close();
  await edge.stop();
  await core.stop();
  await redis.close();
});

interface Load {
  /** Request ids that were answered 202. */
  readonly accepted: readonly string[];
  /** How often a request was sent again, by why. */
  readonly retries: ReadonlyMap<string, number>;
  /** Lets every loop finish the request it is at. */
  finish(): Promise<void>;
}

/** Posts from bridges that keep the contract's rule: on a lost connection, 5xx or 429 the same id again, signed anew. */
function startLoad(workspaces: readonly TestWorkspace[]): Load {
  const accepted: string[] = [];
  const retries = new Map<string, number>();
  const stopping = new AbortController();

  async function send(workspace: TestWorkspace, from: string, id: string): Promise<void> {
    const event = { type: "message", id, channel: "c1", user: { id: "u1" }, text: "hello" };
    for (;;) {
      const answer = await post(`http://127.0.0.1:${edge.port}`, workspace, event, { from }).catch(
        () => undefined,
      );
      if (answer?.status === 202) {
        accepted.push(id);
        return;
      }
      const why = answer === undefined ? "lost" : String(answer.status);
      retries.set(why, (retries.get(why) ?? 0) + 1);
      if (!["lost", "503", "429"].includes(why)) throw new Error(`a post was answered ${why}`);
      await sleep(answer === undefined ? 50 : Number(answer.headers["retry-after"]) * 1_000);
    }
  }
  async function loop(workspace: TestWorkspace, index: number): Promise<void> {
    for (let i = 0; !stopping.signal.aborted; i++)
      await send(workspace, `127.0.3.${1 + index}`, `${index}/${i}`);
  }
  const loops = Promise.all(workspaces.map(loop));
  return {
    accepted,
    retries,
    async finish() {
      stopping.abort();
      await loops;
    },
  };
}

/** The request ids of all that is stored. */
async function storedIds(): Promise<readonly string[]> {
  const store = await openTestStore(redis.url);
  const ids: string[] = [];
  for (const log of await texts(store, "KEYS", "cb:{s*}:in")) {
    for (const entry of asList(await store.redis.command(log, ["XRANGE", log, "-", "+"]))) {
      const [, fields = []] = asList(entry);
      ids.push(InboundEvent.decode(asBytes(asList(fields)[3])).id ?? "");
    }
  }
  await store.close();
  return ids;
}

const CRASH: Readonly<Record<string, () => Promise<void>>> = {
  async "the edge"() {
    await edge.stop("SIGKILL");
    edge = await startEdgeAgain();
  },
  async core() {
    await core.stop("SIGKILL");
    core = await startCoreAgain();
  },
  async Redis() {
    await redis.kill();
    await redis.restart();
  },
};

// contract: post-stored, repeat-id
test.each(Object.keys(CRASH))(
  "when %s is killed under load, every id that was answered 202 is stored exactly once, and none twice",
  async (which) => {
    const workspaces = await Promise.all(Array.from({ length: LOOPS }, () => createWorkspace(clients)));
    const load = startLoad(workspaces);
    for (let crashes = 0; crashes < CRASHES; crashes++) {
      const before = load.accepted.length;
      await until("posts are accepted", () => load.accepted.length >= before + 100, 30_000);
      await CRASH[which]?.();
      const after = load.accepted.length;
      await until("posts are accepted again", () => load.accepted.length >= after + 50, 30_000);
    }
    await load.finish();

    const stored = await storedIds();
    const summary = [...load.retries].map(([why, times]) => `${why}: ${times}`).join(", ");
    process.stdout.write(
      `${which} killed ${CRASHES} times: ${stored.length} stored; sent again: ${summary}\n`,
    );
    expect(load.retries.size).toBeGreaterThan(0);
    expect(new Set(stored).size).toBe(stored.length);
    expect(stored.toSorted()).toEqual(load.accepted.toSorted());
  },
  90_000,
);
