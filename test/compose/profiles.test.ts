import { execFileSync, spawnSync } from "node:child_process";
import { ROOT } from "../harness/compose-file";
import { until } from "../harness/wait";

const hasEngine =
  spawnSync("docker", ["info"]).status === 0 && spawnSync("docker", ["compose", "version"]).status === 0;
if (!hasEngine)
  process.stderr.write(
    "SKIPPED: profiles of docker compose (this machine has no Docker engine with Compose)\n",
  );
const testWithEngine = hasEngine ? test : test.skip;

const PROJECT = `chat-bridge-profiles-${process.pid}`;
const PROFILES = ["tools", "metrics", "backup"].flatMap((name) => ["--profile", name]);
const PORTS = ["EDGE_PORTS", "CORE_PORTS", "DASHBOARD_PORT", "PROMETHEUS_PORT"].map((name) => [name, "0"]);
const BUILD_AND_START_MS = 900_000;

function compose(...args: readonly string[]): string {
  const env = { ...process.env, ...Object.fromEntries(PORTS) };
  const all = ["compose", "-p", PROJECT, ...PROFILES, ...args];
  return execFileSync("docker", all, { cwd: ROOT, env, encoding: "utf8" });
}
const run = (...args: readonly string[]) => compose("run", "--rm", "-T", ...args);

beforeAll(() => {
  if (hasEngine)
    compose("up", "--build", "--detach", "--scale", "core=2", "--scale", "edge=2", "dashboard", "edge");
}, BUILD_AND_START_MS);
afterAll(() => {
  if (hasEngine) compose("down", "--volumes", "--remove-orphans", "--timeout", "15");
}, 120_000);

interface Targets {
  readonly data: {
    readonly activeTargets: readonly {
      readonly labels: { readonly process: string };
      readonly health: string;
    }[];
  };
}

testWithEngine(
  "Prometheus reads the metrics of every core, edge and dashboard (skipped without a Docker engine)",
  async () => {
    compose("up", "--detach", "--wait", "--no-recreate", "prometheus");
    const ask = (path: string) =>
      compose("exec", "-T", "prometheus", "wget", "-q", "-O", "-", `http://127.0.0.1:9090/api/v1/${path}`);
    const expected = ["core up", "core up", "dashboard up", "edge up", "edge up"];
    await until("all targets are up", () => {
      const { data } = JSON.parse(ask("targets?state=active")) as Targets;
      const found = data.activeTargets.map(({ labels, health }) => `${labels.process} ${health}`);
      return found.toSorted().join() === expected.join();
    });
    expect(ask("rules")).toContain('"name":"ChatBridgeShardsNotHeld"');
  },
  BUILD_AND_START_MS,
);

testWithEngine(
  "a backup of the data and the key is restored in new volumes (skipped without a Docker engine)",
  () => {
    run("cli", "workspace", "create", "--show-secret", "Kept");
    run("backup", "now");
    run("backup-secrets", "now");
    run("cli", "workspace", "create", "--show-secret", "Lost");
    compose("down");
    const volumes = ["redis-data", "kept-secrets", "redis-secrets", "core-secrets"];
    execFileSync("docker", ["volume", "rm", ...volumes.map((name) => `${PROJECT}_${name}`)]);

    run("restore-secrets", "latest");
    run("restore", "latest");
    compose("up", "--detach", "--wait", "core");
    const list = run("cli", "workspace", "list");
    expect(list).toContain("Kept");
    expect(list).not.toContain("Lost");
  },
  BUILD_AND_START_MS,
);
