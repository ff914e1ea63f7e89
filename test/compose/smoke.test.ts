import { execFileSync, spawnSync } from "node:child_process";
import { joinChat } from "../harness/chat-member";
import { ROOT } from "../harness/compose-file";

const hasEngine =
  spawnSync("docker", ["info"]).status === 0 && spawnSync("docker", ["compose", "version"]).status === 0;
if (!hasEngine)
  process.stderr.write("SKIPPED: docker compose up (this machine has no Docker engine with Compose)\n");

const PROJECT = `chat-bridge-smoke-${process.pid}`;
const PORTS = ["EDGE", "CORE"].map((name) => [`${name}_PORTS`, "0"] as const);
const PORT = ["DASHBOARD", "CHAT", "PICTURES", "MAIL"].map((name) => [`${name}_PORT`, "0"] as const);
const BUILD_AND_START_MS = 900_000;

function compose(...args: readonly string[]): string {
  const env = { ...process.env, ...Object.fromEntries([...PORTS, ...PORT]) };
  return execFileSync("docker", ["compose", "-p", PROJECT, ...args], { cwd: ROOT, env, encoding: "utf8" });
}

afterAll(() => {
  if (hasEngine) compose("--profile", "tools", "down", "--volumes", "--remove-orphans", "--timeout", "15");
}, 120_000);

(hasEngine ? test : test.skip)(
  "docker compose up --scale core=3 --scale edge=2 starts a working demo (skipped without a Docker engine)",
  async () => {
    const up = ["up", "--detach", "--scale", "core=3", "--scale", "edge=2"];
    compose(...up, "--build");
    compose(...up, "--wait", "chat", "game", "dashboard", "mail");
    const ada = await joinChat(`http://${compose("port", "chat", "8083").trim()}`, "Ada");
    await ada.say("/play");
    expect((await ada.sees("start")).message.kind).toBe("help");
    ada.leave();
    expect(compose("run", "--rm", "-T", "operator", "sign-in")).toMatch(/^http:\/\//m);
  },
  BUILD_AND_START_MS,
);
