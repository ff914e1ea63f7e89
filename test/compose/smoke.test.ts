import { connect } from "node:net";
import { send } from "../harness/bridge";
import { joinChat } from "../harness/chat-member";
import type { TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { createInstallation, findEngine, type Installation } from "./engine";
import { startSteadyLoad } from "./steady-load";

const hasEngine = findEngine("docker compose up, upgrades and crashes");
const inEngine = hasEngine ? test : test.skip;
const BUILD_MS = 900_000;
const STEP_MS = 600_000;
const PER_SECOND = 50;

let installed: Installation;
let workspace: TestWorkspace;

beforeAll(async () => {
  if (hasEngine) installed = await createInstallation("chat-bridge-smoke");
});
afterAll(() => {
  if (hasEngine) installed.destroy();
}, 120_000);

/** Prints a measurement of this run. No test depends on it. */
const print = (line: string): void => void process.stderr.write(`${line}\n`);
const idsOf = async (): Promise<readonly string[]> =>
  (await installed.containers()).map(({ id, service }) => `${service} ${id}`).toSorted();
const countOf = async (name: string): Promise<number> =>
  (await installed.containers()).filter(({ service }) => service === name).length;

async function isReachable(): Promise<boolean> {
  const edge = await send(installed.url("EDGE"), "/hooks/none", { method: "POST", body: "{}" });
  const dashboard = await send(installed.url("DASHBOARD"), "/");
  const core = connect(Number(new URL(installed.url("CORE")).port), "127.0.0.1");
  const open = await new Promise((resolve) =>
    core.once("connect", () => resolve(true)).once("error", resolve),
  );
  core.destroy();
  return edge.status === 404 && dashboard.status === 200 && open === true;
}
const reachable = () => until("the published ports answer", () => isReachable().catch(() => false));

inEngine(
  "docker compose up starts a healthy service with a playable game",
  async () => {
    await installed.compose("build", "secrets");
    const begin = performance.now();
    await installed.compose("up", "--detach");
    await installed.healthy();
    print(`up: healthy after ${((performance.now() - begin) / 1_000).toFixed(1)} s`);
    const ada = await joinChat(installed.url("CHAT"), "Ada");
    await ada.say("/play");
    expect((await ada.sees("start")).message.kind).toBe("help");
    ada.leave();
    expect(await installed.compose("run", "--rm", "-T", "operator", "sign-in")).toMatch(/^http:\/\//m);
  },
  BUILD_MS,
);

inEngine(
  "a second docker compose up, also with --build, changes no container",
  async () => {
    const before = await idsOf();
    for (const more of [[], ["--build"], []]) {
      await installed.compose("up", "--detach", ...more);
      expect(await idsOf()).toEqual(before);
    }
  },
  STEP_MS,
);

inEngine(
  "the command line writes the secret of a new workspace to a file",
  async () => {
    const cli = ["run", "--rm", "-T", "cli"];
    const made = await installed.compose(
      ...cli,
      "workspace",
      "create",
      "Load",
      "--secret-file",
      "a",
      "--json",
    );
    const { id } = (JSON.parse(made) as { workspace: { id: string } }).workspace;
    const secret = await installed.compose("run", "--rm", "-T", "--entrypoint", "cat", "cli", "a");
    workspace = { id, secret: secret.trim() };
    expect(secret.trim()).toMatch(/^\S{32,}$/);
  },
  STEP_MS,
);

inEngine(
  "an upgrade with roll.sh answers every request with 202 at the first try, and loses no event",
  async () => {
    await installed.compose("up", "--detach", "--scale", "core=2", "--scale", "edge=2");
    await installed.healthy();
    for (const [replicas, level] of [
      [2, "warn"],
      [1, "debug"],
    ] as const) {
      const scale = ["--scale", `core=${replicas}`, "--scale", `edge=${replicas}`];
      await installed.compose("up", "--detach", ...scale);
      await installed.healthy();
      const before = await idsOf();
      const load = startSteadyLoad({
        url: installed.url("EDGE"),
        workspace,
        perSecond: PER_SECOND,
        repeats: false,
      });
      await until("the load runs", () => load.accepted() > PER_SECOND);
      await installed.roll({ LOG_LEVEL: level });
      const during = load.accepted();
      await until("the load runs on", () => load.accepted() > during + PER_SECOND);
      const report = await load.finish();
      print(`upgrade of ${replicas} cores and ${replicas} edges: ${JSON.stringify(report)}`);
      const { sent } = report;
      expect(report).toEqual({
        sent,
        accepted: sent,
        answered: sent,
        answeredTwice: 0,
        answers: { 202: sent },
      });
      expect([await countOf("core"), await countOf("edge")]).toEqual([replicas, replicas]);
      const kept = (await idsOf()).filter((each) => before.includes(each)).map((each) => each.split(" ")[0]);
      expect(new Set(kept)).toEqual(new Set(["demo-workspace", "mail", "proxy", "redis", "secrets"]));
      expect(await installed.roll({ LOG_LEVEL: level })).not.toContain("starts");
    }
  },
  STEP_MS,
);

inEngine(
  "no accepted event is lost when the main process of each container is killed in turn, and all containers recover",
  async () => {
    const load = startSteadyLoad({ url: installed.url("EDGE"), workspace, perSecond: 10, repeats: true });
    for (const container of (await installed.containers()).filter(({ pid }) => pid > 0)) {
      await installed.crash(container);
      const restarted = async (): Promise<boolean> =>
        (await installed.containers()).some(
          ({ id, pid }) => id === container.id && pid > 0 && pid !== container.pid,
        );
      await until(`${container.service} has restarted`, restarted);
      await installed.healthy();
      const before = load.accepted();
      await until("requests are accepted again", () => load.accepted() > before + 10);
    }
    const report = await load.finish();
    print(`crashes: ${JSON.stringify(report)}`);
    const { sent } = report;
    expect(report).toMatchObject({ sent, accepted: sent, answered: sent, answeredTwice: 0 });
    await reachable();
  },
  STEP_MS,
);

inEngine(
  "the published ports stay the same after a restart, and after docker compose down and up",
  async () => {
    await installed.compose("restart", "proxy", "core", "edge");
    await installed.healthy();
    await reachable();
    await installed.compose("down");
    await installed.compose("up", "--detach");
    await installed.healthy();
    await reachable();
  },
  STEP_MS,
);
