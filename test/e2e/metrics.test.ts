import { readFileSync } from "node:fs";
import { join } from "node:path";
import { poll, post, send } from "../harness/bridge";
import { FollowRequest } from "../../proto/gen/chatbridge/v1/game";
import { startConsumer, type Consumer } from "../harness/consumer";
import { readMetrics, valueOf, type ReadMetric } from "../harness/metrics";
import { startService, type TestService, type TestWorkspace } from "../harness/service";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";

const ROOT = join(__dirname, "../..");

// Core reports a limited number of groups. So this file uses a separate service: on a shared service, the groups of
// other test files could use up the limit.
let service: TestService;
/** The CA that core gets as REDIS_CA, so that core reports when this certificate expires. */
const ca = createTestCa();
let workspace: TestWorkspace;
let consumer: Consumer;
let core: ReadonlyMap<string, ReadMetric>;
let edge: ReadonlyMap<string, ReadMetric>;
beforeAll(async () => {
  service = await startService({ core: { REDIS_CA: ca.certPath } });
  workspace = await service.workspaces.make();
  consumer = await startConsumer(service.clients.games, { group: "readers" }).opened();
  await post(service.url, workspace, {
    type: "message",
    id: "id of a request",
    channel: "name of a channel",
    user: { id: "id of a user", name: "name of a user" },
    text: "text of a message",
  });
  await poll(service.url, workspace);
  await consumer.sees(1);
  // The counter of dead letters has no series before the first dead letter.
  await post(service.url, workspace, { type: "message", channel: "c", user: { id: "u" }, text: "given up" });
  const [, second] = await consumer.sees(2);
  const value = { deliveryId: second?.id ?? "", reason: "a test" };
  consumer.say(FollowRequest.create({ say: { $case: "deadLetter", value } }));
  await until(
    "core counts the dead letter",
    async () =>
      (await readMetrics(service.core)).get("chatbridge_core_follow_dead_letters_total")?.values.size,
  );
  edge = await readMetrics(service.edge);
  // Core reports the backlogs of the shards that it holds, and acquires shards only after it has started.
  core = await until("core reports its backlogs", async () => {
    const metrics = await readMetrics(service.core);
    return valueOf(metrics, "chatbridge_core_follow_unacked", 'group="readers"') > 0 && metrics;
  });
});
afterAll(async () => {
  consumer.cancel();
  await service.close();
  ca.close();
});

/** The documented properties of a metric. */
interface Row {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Returns the rows of the table below a heading of docs/metrics.md. */
function documented(heading: string): readonly Row[] {
  const text = readFileSync(join(ROOT, "docs/metrics.md"), "utf8");
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [table = ""] = section.split("\n## ");
  const cells = table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return cells.flatMap(([, name = "", type = "", labels = "", help = ""]) =>
    /^`chatbridge_\w+`$/.test(name)
      ? [{ name: name.slice(1, -1), type, labels: labels.match(/\w+/g) ?? [], help }]
      : [],
  );
}

/**
 * Returns the metrics of a process as rows that can be compared with the rows of `documented`. The labels of a metric
 * are the labels of its values.
 */
function told(metrics: ReadonlyMap<string, ReadMetric>): readonly Row[] {
  return [...metrics].flatMap(([name, { type, help, values }]) => {
    if (!name.startsWith("chatbridge_")) return [];
    const labels = new Set([...values.keys()].flatMap((key) => key.match(/\w+(?==")/g) ?? []));
    labels.delete("le");
    return [{ name, type, labels: [...labels], help }];
  });
}

const byName = (a: Row, b: Row): number => a.name.localeCompare(b.name);

test("docs/metrics.md lists exactly the metrics of core and the edge, each with its type, labels and help text", () => {
  expect(documented("Core").toSorted(byName)).toEqual(told(core).toSorted(byName));
  expect(documented("Edge").toSorted(byName)).toEqual(told(edge).toSorted(byName));
});

/**
 * Returns the names of the metric series that `text` mentions: series of this service, of the process and of Node.js.
 */
function namesIn(text: string): readonly string[] {
  return [...new Set(text.match(/\b(?:chatbridge|process|nodejs)_\w+/g))];
}

/** Returns whether core or the edge has a series with this name. */
function isTold(name: string): boolean {
  const metric = (metrics: ReadonlyMap<string, ReadMetric>) =>
    metrics.get(name) ?? metrics.get(name.replace(/_(?:bucket|sum|count)$/, ""));
  return (metric(core) ?? metric(edge)) !== undefined;
}

test("the Grafana dashboard shows every metric of core and the edge, and only metrics that exist", () => {
  const dashboard = readFileSync(join(ROOT, "deploy/monitoring/grafana/chat-bridge.json"), "utf8");
  const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
  const names = namesIn(expressions);
  expect(names.filter((name) => !isTold(name))).toEqual([]);
  const shown = new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, "")));
  const ours = [...told(core), ...told(edge)].map(({ name }) => name);
  expect(ours.filter((name) => !shown.has(name))).toEqual([]);
});

test("docs/metrics.md names only metrics that exist", () => {
  const names = namesIn(readFileSync(join(ROOT, "docs/metrics.md"), "utf8"));
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name) => !/^(?:process|nodejs)_$/.test(name) && !isTold(name))).toEqual([]);
});

test("the name of a metric ends in _total if the metric is a counter, and only then; times are in seconds", () => {
  for (const { name, type } of [...told(core), ...told(edge)]) {
    expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
    expect(name).toMatch(/^chatbridge_(?:(?:core|edge)_[a-z_]+|build_info)$/);
    expect(name).not.toMatch(/_(?:ms|milliseconds|minutes|kb|mb)(?:_|$)/);
  }
});

test("the metrics contain no id, name or text from a request, and no workspace id, secret or address", async () => {
  for (const { healthPort } of [service.core, service.edge]) {
    const text = (await send(`http://127.0.0.1:${healthPort}`, "/metrics")).body.toString();
    for (const secret of [workspace.id, workspace.secret, "id of", "name of", "text of", "127.0.0.1"]) {
      expect(text).not.toContain(secret);
    }
  }
});

test("core and the edge also report the metrics of their process and of Node.js", () => {
  for (const metrics of [core, edge]) {
    expect(valueOf(metrics, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(valueOf(metrics, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(metrics.has("nodejs_eventloop_lag_p99_seconds")).toBe(true);
    expect(metrics.has("nodejs_gc_duration_seconds")).toBe(true);
  }
});

test("the listener for bridges does not serve metrics", async () => {
  expect((await send(service.url, "/metrics")).status).toBe(404);
});
