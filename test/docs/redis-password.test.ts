import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post } from "../harness/bridge";
import { connectToCore } from "../harness/core-clients";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { redisServer } from "../harness/redis-server";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

const OLD = "the-old-password-of-redis";
const POST_EVERY_MS = 20;

/** The two blocks of commands below the heading "Replace the password of Redis". */
const COMMANDS = indentedBlocks().filter((block) => block.includes("ACL SETUSER"));

/** Returns the code blocks of docs/tokens.md that are indented, because they belong to a list item. */
function indentedBlocks(): readonly string[] {
  const text = readFileSync(join(__dirname, "../../docs/tokens.md"), "utf8");
  return [...text.matchAll(/^ {3}```sh\n(.*?)^ {3}```/gms)].map(([, block = ""]) =>
    block.replaceAll(/^ {3}/gm, ""),
  );
}

let folder: string;
let port: number;
let redis: ChildProcess;

/** Starts Redis with the file `redis.conf` in `folder`. */
async function startRedis(): Promise<void> {
  redis = spawn(redisServer(), [join(folder, "redis.conf")], { stdio: "ignore" });
  await until("Redis answers", () => /PONG|NOAUTH|WRONGPASS/.test(ping("none")));
}

async function stopRedis(): Promise<void> {
  const exited = once(redis, "exit");
  redis.kill();
  await exited;
}

/** Sends PING with a password, and returns the answer. */
function ping(password: string): string {
  try {
    const env = { PATH: process.env["PATH"], REDISCLI_AUTH: password };
    const all = ["-h", "127.0.0.1", "-p", String(port), "ping"];
    return execFileSync("redis-cli", all, { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr);
  }
}

/** Runs commands of the page, with a `redis-cli` that connects to this Redis. Returns the answers. */
function run(commands: string): string {
  const path = `${folder}/bin:${process.env["PATH"]}`;
  return execFileSync("sh", ["-ec", commands], { cwd: folder, env: { PATH: path }, encoding: "utf8" });
}

function startPosts(url: string, workspace: { readonly id: string; readonly secret: string }) {
  const answers: Promise<number>[] = [];
  const timer = setInterval(() => {
    const event = { type: "message", channel: "c", user: { id: "u" }, text: `${answers.length}` };
    answers.push(
      post(url, workspace, event).then(
        ({ status }) => status,
        () => 0,
      ),
    );
  }, POST_EVERY_MS);
  return {
    more: (count: number) => {
      const from = answers.length;
      return until(`${count} more requests`, () => answers.length >= from + count);
    },
    async stop(): Promise<readonly number[]> {
      clearInterval(timer);
      return [...new Set(await Promise.all(answers))];
    },
  };
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "cb-redis-password-"));
  port = await freePort();
  execFileSync("mkdir", [join(folder, "bin")]);
  const cli = execFileSync("sh", ["-c", "command -v redis-cli"], { encoding: "utf8" }).trim();
  writeFileSync(join(folder, "bin/redis-cli"), `#!/bin/sh\nexec ${cli} -h 127.0.0.1 -p ${port} "$@"\n`);
  chmodSync(join(folder, "bin/redis-cli"), 0o700);
  writeFileSync(join(folder, "redis-password.old"), OLD);
});
afterEach(async () => {
  if (redis.exitCode === null) await stopRedis();
  rmSync(folder, { recursive: true });
});

test.each([
  ["requirepass in redis.conf", "CONFIG REWRITE", [`requirepass ${OLD}`], undefined],
  ["an ACL file", "ACL SAVE", ["aclfile users.acl"], `user default on >${OLD} ~* &* +@all`],
])(
  "the page's commands replace the password of a Redis with %s: two cores lose no request, and a restart of Redis keeps it",
  async (_what, save, settings, acl) => {
    const conf = [`port ${port}`, "bind 127.0.0.1", `dir ${folder}`, "appendonly yes", "appendfsync always"];
    const local = settings.map((line) => line.replace("users.acl", join(folder, "users.acl")));
    writeFileSync(join(folder, "redis.conf"), [...conf, ...local, ""].join("\n"));
    if (acl !== undefined) writeFileSync(join(folder, "users.acl"), `${acl}\n`);
    expect(COMMANDS).toHaveLength(2);
    const [add = "", remove = ""] = COMMANDS.map((block) => block.replaceAll("CONFIG REWRITE", save));
    await startRedis();

    const ports = [await freePort(), await freePort()];
    const start = (password: string, at: number) =>
      startCore(`redis://:${password}@127.0.0.1:${port}`, { CORE_LISTEN: `127.0.0.1:${ports[at]}` });
    const cores: TestProcess[] = [await start(OLD, 0), await start(OLD, 1)];
    const addresses = ports.map((each) => `127.0.0.1:${each}`);
    const edge = await startEdge(0, { CORE_ADDRESS: `ipv4:${addresses.join()}` });
    const clients = connectToCore(ports[0] ?? 0);
    const workspace = await createWorkspaceApi(clients.workspaces).make();
    clients.close();
    const url = `http://127.0.0.1:${edge.port}`;

    const posts = startPosts(url, workspace);
    await posts.more(20);
    expect(run(add)).toMatch(/^OK\s+OK\s+$/);
    const password = readFileSync(join(folder, "redis-password.new"), "utf8").trim();
    for (const at of [0, 1]) {
      await posts.more(20);
      await cores[at]?.stop();
      cores[at] = await start(password, at);
    }
    await posts.more(20);
    expect(run(remove)).toMatch(/^OK\s+OK\s+$/);
    await posts.more(20);
    expect(await posts.stop()).toEqual([202]);

    await stopRedis();
    await startRedis();
    expect(ping(password)).toBe("PONG\n");
    expect(ping(OLD)).toMatch(/NOAUTH|WRONGPASS/);
    const event = { type: "message", channel: "c", user: { id: "u" }, text: "after the restart" };
    await until("core answers again", async () => (await post(url, workspace, event)).status === 202);
    await Promise.all([edge, ...cores].map((each) => each.stop()));
  },
);
