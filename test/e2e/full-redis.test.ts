import { status } from "@grpc/grpc-js";
import { connectRedis } from "../../core/store/redis/redis";
import { poll, post } from "../harness/bridge";
import { runCli } from "../harness/cli";
import { useFollowers } from "../harness/followers";
import { readMetrics, valueOf } from "../harness/metrics";
import { probe } from "../harness/probe";
import { publish, startService, textEvent, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const HEALS_WITHIN_MS = 60_000;
const WORKSPACES = 12;
/** A typed message of the maximum length: 12 KB. */
const LONG = "€".repeat(4_000);

const followers = useFollowers();
let service: TestService;
beforeEach(async () => {
  service = await startService({ redis: ["--maxmemory", "64mb", "--appendfsync", "no"] });
});
afterEach(() => service.close());

const makeAll = () => Promise.all(Array.from({ length: WORKSPACES }, () => service.workspaces.make()));

async function setMaxMemory(bytes: string): Promise<void> {
  const redis = await connectRedis({ url: service.redis.url, onError: () => undefined });
  await redis.command("", ["CONFIG", "SET", "maxmemory", bytes]);
  await redis.close();
}

let requests = 0;

/**
 * Posts a message. Returns the message's text if the answer was 202, and undefined if it was 503. Fails for any other
 * answer.
 */
async function type(workspace: TestWorkspace, filler = ""): Promise<string | undefined> {
  const text = `${++requests} ${filler}`.slice(0, 4_000).trim();
  const event = { id: `r${requests}`, type: "message", channel: "c1", user: { id: "u1" }, text };
  const { status: answered, json } = await post(service.url, workspace, event);
  if (answered === 202) return text;
  expect(answered).toBe(503);
  expect(json).toMatchObject({ error: "Service Unavailable" });
  return undefined;
}

/** Polls until no more events wait. Returns the texts of all events since `after`. */
async function pollAll(workspace: TestWorkspace): Promise<readonly string[]> {
  const texts: string[] = [];
  let query = "limit=100";
  for (;;) {
    const { status: answered, json } = await poll(service.url, workspace, query);
    expect(answered).toBe(200);
    const page = json as { events: { message: { text: string } }[]; hasMore: boolean; next: string };
    texts.push(...page.events.map(({ message }) => message.text));
    if (!page.hasMore) return texts;
    query = `limit=100&after=${page.next}`;
  }
}

test("when valid traffic has filled Redis, POSTs are accepted again after bridges have polled and games have acked, and no event is lost", async () => {
  const workspaces = await makeAll();
  const game = await followers.start(service.clients, { group: "g", window: 1_000 }).opened();
  const accepted = new Set<string>();
  const published = new Map(workspaces.map(({ id }) => [id, 0]));
  let isRefused = false;

  async function fillBy(workspace: TestWorkspace): Promise<void> {
    // Posts and publications continue until both have been refused several times in a row.
    for (let refusals = 0; refusals < 5;) {
      const text = await type(workspace, LONG);
      if (text !== undefined) accepted.add(text);
      const events = Array.from({ length: 10 }, () => textEvent(workspace.id, LONG));
      const results = await publish(service.clients, ...events);
      const stored = results.filter(({ outcome }) => outcome?.$case === "published").length;
      published.set(workspace.id, (published.get(workspace.id) ?? 0) + stored);
      refusals = text === undefined && stored === 0 ? refusals + 1 : 0;
    }
    isRefused = true;
  }
  await Promise.all(workspaces.map(fillBy));
  expect(isRefused).toBe(true);
  // The traffic stops. Bridges poll, and the game acks.
  for (const workspace of workspaces)
    expect(await pollAll(workspace)).toHaveLength(published.get(workspace.id) ?? 0);
  game.ackAll();
  const recovered = until(
    "all POSTs are accepted again",
    async () => {
      const texts = await Promise.all(workspaces.map((workspace) => type(workspace)));
      for (const text of texts) if (text !== undefined) accepted.add(text);
      return texts.every((text) => text !== undefined);
    },
    HEALS_WITHIN_MS,
  );
  await recovered;
  await until("the game has got all accepted events", () =>
    [...accepted].every((text) => game.seen.some((seen) => seen.text === text)),
  );
  expect(new Set(game.seen.map(({ text }) => text))).toEqual(accepted);
  await until("the acked events have left Redis", async () => {
    const metrics = await readMetrics(service.core);
    return valueOf(metrics, "chatbridge_core_inbound_log_length") === 0;
  });
});

test("polls, acks, changes and deletions succeed while Redis rejects new data; errors, /ready and the log say what is full", async () => {
  const [kept, removed] = await Promise.all([service.workspaces.make(), service.workspaces.make()]);
  const game = await followers.start(service.clients, { group: "g" }).opened();
  expect(await type(kept)).toBeDefined();
  await game.sees(1);
  await publish(service.clients, textEvent(kept.id, "held"));
  await setMaxMemory("1mb");

  expect(await type(kept)).toBeUndefined();
  await expectRejected(
    publish(service.clients, textEvent(kept.id, "late")),
    status.UNAVAILABLE,
    /the store is full: Redis has reached its maxmemory/,
  );
  await expectRejected(service.workspaces.make(), status.UNAVAILABLE, /the store is full/);
  const created = await runCli("workspace create Late --show-secret", { corePort: service.core.port });
  expect(created.stderr).toMatch(/rejects the change: the store is full: Redis has reached its maxmemory/);
  expect(created.stderr).not.toMatch(/CORE_TLS_CA/);
  expect(await probe(service.core, "/ready")).toMatchObject([
    200,
    { ready: true, notice: expect.stringContaining("maxmemory") },
  ]);
  expect(service.core.log.filter(({ msg }) => String(msg).startsWith("events are rejected"))).toHaveLength(1);

  expect(await pollAll(kept)).toEqual(["held"]);
  game.ackAll();
  await until("the acked event has left Redis", async () => {
    const metrics = await readMetrics(service.core);
    return valueOf(metrics, "chatbridge_core_inbound_log_length") === 0;
  });
  const again = await followers.start(service.clients, { group: "g" }).opened();
  expect(again.end).toBeUndefined();
  await service.workspaces.update(kept.id, { name: "New name" });
  await service.workspaces.disconnect(removed.id);
  await service.workspaces.delete(removed.id);
  expect(valueOf(await readMetrics(service.core), "chatbridge_core_store_full_total")).toBeGreaterThan(2);

  await setMaxMemory("64mb");
  expect(await type(kept)).toBeDefined();
});
