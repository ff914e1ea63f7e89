import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { createClient } from "@redis/client";
import { CHAT_NAMES, LISTENERS } from "../../deploy/local/start-settings";
import { joinChat } from "../harness/chat-member";
import { askApi } from "../harness/dashboard";
import { startTestRedis } from "../harness/redis";
import { until } from "../harness/wait";
import {
  ANY_PORTS,
  fact,
  living,
  newFolder,
  NO_DEMO,
  nothingIsLeft,
  PARTS,
  paste,
  pathWith,
  PROJECT,
  type Run,
  snippet,
  start,
  stop,
} from "./npm-start";

/** Returns the events in curl's output, which contains the answer to a poll. */
function eventsOf(printed: string): unknown[] {
  return (JSON.parse(/\{"events".*/.exec(printed)?.[0] ?? "") as { events: unknown[] }).events;
}

describe("a start on free ports", () => {
  let run: Run;
  let page: string;
  beforeAll(async () => {
    const others = join(newFolder(), "others.pem");
    writeFileSync(others, rootCertificates[0] ?? "");
    run = await start({ env: { ...ANY_PORTS, PUSH_CA: others } });
    page = await run.ready();
  });

  test("the printed `follow` command shows members' events, and sends the acks that it reads from standard input", async () => {
    const follow = spawn("bash", ["-c", snippet(page, "follow")], { cwd: PROJECT, stdio: "pipe" });
    let shown = "";
    for (const stream of [follow.stdout, follow.stderr]) {
      stream.on("data", (chunk: Buffer) => (shown += chunk.toString()));
    }
    const ended = new Promise((resolve) => follow.once("close", resolve));
    await until("the command follows events", () => shown.includes('"opened": {'));
    await paste(page, "report");
    const id = await until("the command shows a delivery", () => /"deliveryId": "([^"]+)"/.exec(shown)?.[1]);
    await until("the command shows the name of the member", () => shown.includes('"name": "Ada"'));
    follow.stdin.end(`{"ack":{"deliveryIds":["${id}"]}}\n`);
    expect(await ended).toBe(0);
  });

  test("the printed command creates a workspace for another bridge, and stores its secret in a file", async () => {
    const file = join(newFolder(), "my.secret");
    const printed = await paste(page, "create", { "my.secret": file });
    const { id = "" } = /(?<id>[0-9a-f-]{36})/.exec(printed)?.groups ?? {};
    expect(id).not.toBe("");
    expect(id).not.toBe(fact(page, "workspace"));
    const text = readFileSync(file, "utf8").trim();
    expect(text).not.toBe("");
    expect(printed).not.toContain(text);
  });

  test("Redis writes to disk before it answers, and only the user can read the data folder", async () => {
    const redis = createClient({ socket: { path: join(run.folder, "redis/redis.sock"), tls: false } });
    redis.on("error", () => undefined);
    await redis.connect();
    expect(await redis.configGet(["appendonly", "appendfsync"])).toMatchObject({
      appendonly: "yes",
      appendfsync: "always",
    });
    redis.destroy();
    const kept = ["", "settings.json", "logs", "logs/core.log", "redis", "redis/redis.sock", "chat/push.key"];
    const forOthers = kept.map((path) => [path, statSync(join(run.folder, path)).mode & 0o077]);
    expect(forOthers).toEqual(kept.map((path) => [path, 0]));
  });

  test("the chat is served at the printed address and receives pushes, and the certificates in PUSH_CA stay trusted", async () => {
    const answer = await fetch(fact(page, "chat"));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const ada = await joinChat(fact(page, "chat"), "Ada");
    expect(await ada.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
    await ada.say("/play");
    await until("a push", () => [...ada.exchanges.values()].some(({ what }) => what === "push"));
    expect(await ada.ask("PUT", "/link/mode", { mode: "poll" })).toBe(204);
    ada.leave();
    const roots = readFileSync(join(run.folder, "chat/push-roots.pem"), "utf8");
    expect(roots.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  test("the chat signs its members in to the dashboard, with a token that sees only the chat's workspace", async () => {
    const { key } = await joinChat(fact(page, "chat"), "Ada");
    const asked = await fetch(`${fact(page, "chat")}/api/dashboard-link`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ event: null }),
    });
    const { url } = (await asked.json()) as { url: string };
    const id = fact(page, "workspace");
    const [, code = ""] = /#visit=([\w-]+)$/.exec(url) ?? [];
    expect(url).toBe(`${new URL(fact(page, "dashboard")).origin}/workspaces/${id}#visit=${code}`);
    const request = { method: "POST", body: { code } };
    const { json } = await askApi(new URL(url).origin, "/session", request);
    const demo = { workspaceId: id, chatUrl: fact(page, "chat") };
    expect(json).toMatchObject({ tokenName: "demo-chat", workspaces: [id], demo });
  });

  test("a second start in the same folder fails and names the process of the first start; that process keeps running", async () => {
    const second = await start({ folder: run.folder });
    expect(await second.exited).toBe(1);
    expect(second.printedErrors()).toMatch(
      new RegExp(`^The service is already running in .* \\(process ${run.child.pid}\\)\\..*\\n$`),
    );
    expect(run.child.exitCode).toBeNull();
  });

  // contract: post-202
  test("the printed commands work when pasted, and their effects survive a restart without the demo", async () => {
    expect(await paste(page, "report")).toMatch(/^HTTP\/1\.1 202 Accepted[^]*\{"ok":true\}$/);
    expect(JSON.parse(await paste(page, "publish"))).toMatchObject({
      results: [{ published: { eventId: expect.stringMatching(/^evt_/) as string } }],
    });
    const polled = await paste(page, "poll");
    expect(polled).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(polled).toContain('"text":"**Who is in?**"');
    await stop(run);

    const second = await start({ folder: run.folder, env: NO_DEMO });
    const again = await second.ready();
    for (const name of ["workspace", "secret"]) expect(fact(again, name)).toBe(fact(page, name));
    // The poll may return more events than before, because the game may have answered the event that `report` sent.
    expect(eventsOf(await paste(again, "poll"))).toEqual(expect.arrayContaining(eventsOf(polled)));
    expect(fact(again, "chat")).toBe("");
    expect(living(second.folder).some(({ command }) => /dist\/demo/.test(command))).toBe(false);
    await stop(second);
  });
});

test("if the data folder's path is too long for a socket, Redis uses a loopback port with a password", async () => {
  const folder = join(newFolder(), `${"deep/".repeat(20)}and with blanks`);
  mkdirSync(folder, { recursive: true });
  const first = await start({ folder, env: NO_DEMO });
  const page = await first.ready();
  expect(await paste(page, "report")).toContain("202 Accepted");
  const command = living(folder).find((each) => PARTS.redis.test(each.command))?.command;
  expect(command).toMatch(/127\.0\.0\.1:\d+/);
  await stop(first);
  const second = await start({ folder, env: NO_DEMO });
  expect(fact(await second.ready(), "workspace")).toBe(fact(page, "workspace"));
  await stop(second);
});

test("with REDIS_URL, npm start starts no Redis; without openssl, the chat only polls, and its page says why", async () => {
  const redis = await startTestRedis();
  const run = await start({ env: { REDIS_URL: redis.url, PATH: pathWith() } });
  const page = await run.ready();
  expect(await paste(page, "report")).toContain("202 Accepted");
  expect(living(run.folder).some(({ command }) => PARTS.redis.test(command))).toBe(false);

  expect(run.printed()).toContain("· game and chat: starting, without pushes, which need openssl\n");
  const ada = await joinChat(fact(page, "chat"), "Ada");
  expect(ada.link().whyFixed).toMatch(/certificate/);
  expect(await ada.ask("PUT", "/link/mode", { mode: "push" })).toBe(409);
  ada.leave();
  await stop(run);
  await redis.close();
});

test.each(Object.keys(LISTENERS))(
  "if another program uses the port of %s, npm start fails with one line that says so",
  async (name) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    // The listeners of a chat are needed only if the chat is started.
    const args = CHAT_NAMES.flatMap((chat) => ["--with", chat]);
    const run = await start({ args, env: { [name]: taken } });
    expect(await run.exited).toBe(78);
    const words = `^${name}: ${taken} is in use by another program\\. Set another address.*\\n$`;
    expect(run.printedErrors()).toMatch(new RegExp(words));
    expect(living(run.folder)).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  },
);

test.each<[string, Parameters<typeof start>[0], number, RegExp]>([
  ["the error for an unknown argument points to --help", { args: ["--prot=1"] }, 64, /npm start -- --help/],
  [
    "all faulty settings are reported together",
    { env: { EDGE_LISTEN: "8080", CORE_LISTEN: "here" } },
    78,
    /EDGE_LISTEN must be host:port[^]*CORE_LISTEN must be host:port/,
  ],
  [
    "if core cannot start, the error contains the reason and the path of core's log",
    { env: { SECRETS_KEY: "too-short" } },
    1,
    /^core stopped unexpectedly \(exit code 78\)\. Its log is .*logs\/core\.log[^]*SECRETS_KEY has a key that is not 32 bytes/,
  ],
])("%s", async (_what, options, code, words) => {
  const run = await start(options);
  expect(await run.exited).toBe(code);
  expect(run.printedErrors()).toMatch(words);
  await nothingIsLeft(run.folder);
});

test("--help lists the settings", async () => {
  const help = await start({ args: ["--help"] });
  expect(await help.exited).toBe(0);
  for (const word of ["DATA_DIR", "REDIS_URL", "EDGE_LISTEN", "127.0.0.1:50052", "Ctrl-C"])
    expect(help.printed()).toContain(word);
});
