import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ROOT } from "../harness/compose-file";
import { dashboardUrlOf } from "../harness/dashboard";
import { testFolder } from "../harness/folder";
import { render, type Example } from "../harness/helm";
import { containerOf, one, type Manifest } from "../harness/manifests";
import { startProcess, type TestProcess } from "../harness/processes";
import { startTestCluster } from "../harness/redis-cluster";
import { durableLines, startRedisNodes } from "../harness/redis-node";
import { startTestSentinel } from "../harness/redis-sentinel";
import { until } from "../harness/wait";

// These tests run core, an edge and the dashboard without a cluster. The processes get the variables that the chart
// renders, and the secrets that the commands in docs/kubernetes.md create. Only their ports differ from those in a
// cluster.

const started: TestProcess[] = [];
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  createSecrets();
}, 900_000);
afterAll(async () => {
  // The processes are killed, because SIGTERM would start the long drain that the chart configures.
  for (const each of started) await each.stop("SIGKILL");
  for (const close of closers) await close();
});
const folder = testFolder();

/** Runs the commands of docs/kubernetes.md with a fake kubectl, which stores each secret in a file. */
function createSecrets(): void {
  const page = readFileSync(join(ROOT, "docs/kubernetes.md"), "utf8");
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
  const commands = blocks.find((block) => block.includes("create secret generic chat-bridge-core")) ?? "";
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const kubectl = '#!/bin/sh\ncase "$*" in *"create secret generic "*) cat > "$SECRETS/$6" ;; esac\n';
  writeFileSync(join(bin, "kubectl"), kubectl, { mode: 0o700 });
  const env = { PATH: `${bin}:${process.env["PATH"]}`, SECRETS: folder };
  const { status, stderr } = spawnSync("sh", ["-euc", commands], { env, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
}

const secretOf = (name: string, key: string): string =>
  parseEnv(readFileSync(join(folder, name), "utf8"))[key] ?? "";

/** Writes the files of the Secrets that a pod mounts. Returns the paths of the files, by their paths in the container. */
function mountSecrets(manifests: readonly Manifest[], component: string): ReadonlyMap<string, string> {
  const { volumes } = one(manifests, "Deployment", component).spec.template.spec;
  const mounted = new Map<string, string>();
  for (const { name, mountPath } of containerOf(manifests, component).volumeMounts) {
    const { secretName = "", items = [] } = volumes.find((each) => each.name === name)?.secret ?? {};
    for (const { key, path } of items) {
      const file = join(folder, `${component}-${path}`);
      writeFileSync(file, secretOf(secretName, key), { mode: 0o600 });
      mounted.set(join(mountPath, path), file);
    }
  }
  return mounted;
}

/**
 * Returns a container's environment, in which references to secrets are replaced by their values and files, and ports
 * by free ports.
 */
function environmentOf(manifests: readonly Manifest[], component: string, corePort = 0) {
  const mounted = mountSecrets(manifests, component);
  const values: Record<string, string> = {};
  for (const { name, value = "", valueFrom } of containerOf(manifests, component).env) {
    const { secretKeyRef } = valueFrom ?? {};
    const text = secretKeyRef ? secretOf(secretKeyRef.name, secretKeyRef.key) : (mounted.get(value) ?? value);
    values[name] = text
      .replaceAll(/\$\((\w+)\)/g, (_all, part: string) => values[part] ?? "")
      .replace(/^(?:0\.0\.0\.0|127\.0\.0\.1):\d+$/, "127.0.0.1:0")
      .replace(/^dns:\/\/\/.*/, `127.0.0.1:${corePort}`);
  }
  return values;
}

async function start(program: "core" | "edge", environment: Record<string, string>): Promise<TestProcess> {
  const child = await startProcess(program, environment);
  started.push(child);
  return child;
}

const isReady = async ({ healthPort }: TestProcess) =>
  (await fetch(`http://127.0.0.1:${healthPort}/ready`)).status === 200;

/** Functions that start the Redis of each example, and return the Helm options with the addresses of this Redis. */
const REDIS: Readonly<
  Record<Exclude<Example, "everything">, (password: string) => Promise<readonly string[]>>
> = {
  async single(password) {
    const { node, close } = await startRedisNodes(async (startNode) => ({
      node: await startNode({ lines: durableLines(password), password }),
    }));
    closers.push(close);
    return [`redis.hosts={${node.name}}`];
  },
  async sentinel(password) {
    const sentinelPassword = secretOf("redis-password", "sentinel-password");
    const { sentinels, close } = await startTestSentinel({ password, sentinelPassword });
    closers.push(close);
    const hosts = `redis.hosts={${sentinels.map(({ name }) => name).join(",")}}`;
    return [hosts, "redis.tls=false,redis.username=,redis.sentinel.username=,redis.ca.secret="];
  },
  async cluster(password) {
    const { nodes, close } = await startTestCluster({ password });
    closers.push(close);
    const hosts = `redis.hosts={${nodes.map(({ name }) => name).join(",")}}`;
    return [hosts, "redis.urlSecret.name=,redis.passwordSecret.name=redis-password,dashboard.enabled=true"];
  },
};

test.each(["single", "sentinel", "cluster"] as const)(
  "core, an edge and the dashboard start and answer requests with the settings of the example %s",
  async (example) => {
    const sets = await REDIS[example](secretOf("redis-password", "password"));
    const manifests = await render(
      example,
      sets.flatMap((set) => ["--set", set]),
    );
    const core = await start("core", environmentOf(manifests, "core"));
    await until("core is ready", () => isReady(core));
    const edge = await start("edge", environmentOf(manifests, "edge", core.port));
    await until("the edge is ready", () => isReady(edge));
    const dashboard = await start("edge", environmentOf(manifests, "dashboard", core.port));

    // The 404 proves that core reached Redis, where it looks up the workspace.
    const hook = `http://127.0.0.1:${edge.port}/hooks/01ARZ3NDEKTSV4RRFFQ69G5FAV`;
    expect((await fetch(hook, { method: "POST", body: "{}" })).status).toBe(404);
    expect((await fetch(dashboardUrlOf(dashboard))).status).toBe(200);
  },
  120_000,
);
