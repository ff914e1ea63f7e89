import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { createClient } from "redis";
import { LISTENERS } from "../../local/start-settings";
import { joinChat } from "../harness/chat-member";
import { startTestRedis } from "../harness/redis";
import { until } from "../harness/wait";
import {
  ANY_PORTS,
  cleanUp,
  fact,
  folderBelow,
  living,
  newFolder,
  nothingIsLeft,
  paste,
  PATIENCE_MS,
  PROJECT,
  REDIS,
  snippet,
  start,
  type Run,
} from "./npm-start";

jest.setTimeout(2 * PATIENCE_MS);
afterAll(cleanUp);

async function stop(run: Run): Promise<void> {
  run.child.kill("SIGTERM");
  expect(await run.exited).toBe(0);
}

/** A PATH on which all that is on ours is found, but for one program. */
function pathWithout(program: string): string {
  const folder = newFolder();
  for (const from of (process.env["PATH"] ?? "").split(":").filter(existsSync)) {
    for (const name of readdirSync(from)) {
      if (name === program) continue;
      try {
        symlinkSync(join(from, name), join(folder, name));
      } catch {
        // One of that name comes before it.
      }
    }
  }
  return folder;
}

const [REPORT, PUBLISH, POLL, FOLLOW] = [1, 2, 3, 4];

/** The events of the page that curl printed. */
function eventsOf(printed: string): unknown[] {
  return (JSON.parse(/\{"events".*/.exec(printed)?.[0] ?? "") as { events: unknown[] }).events;
}

// contract: post-202
test("the page's commands work as they are pasted, and what they did is there after a restart", async () => {
  // The ports, too, are whatever is free.
  const first = await start({ env: ANY_PORTS });
  const page = await first.ready();
  expect(await paste(snippet(page, REPORT))).toMatch(/^HTTP\/1\.1 202 Accepted[^]*\{"ok":true\}$/);
  expect(JSON.parse(await paste(snippet(page, PUBLISH)))).toMatchObject({
    results: [{ published: { eventId: expect.stringMatching(/^evt_/) as string } }],
  });
  const polled = await paste(snippet(page, POLL));
  expect(polled).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(polled).toContain('"text":"**Who is in?**"');
  await stop(first);

  const second = await start({ folder: first.folder });
  const again = await second.ready();
  expect([fact(again, "workspace"), fact(again, "secret")]).toEqual([
    fact(page, "workspace"),
    fact(page, "secret"),
  ]);
  // The game may have answered the report since.
  expect(eventsOf(await paste(snippet(again, POLL)))).toEqual(expect.arrayContaining(eventsOf(polled)));
  await stop(second);
  await nothingIsLeft(first.folder);
});

test("the page's follow command shows what members do, and takes acks, while its terminal is open", async () => {
  const run = await start();
  const page = await run.ready();
  const follow = spawn("bash", ["-c", snippet(page, FOLLOW)], {
    cwd: PROJECT,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let shown = "";
  for (const stream of [follow.stdout, follow.stderr]) {
    stream.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  }
  const ended = new Promise((resolve) => follow.once("close", resolve));
  await until("it follows", () => shown.includes('"opened": {}'), PATIENCE_MS);
  await paste(snippet(page, REPORT));
  const id = await until("it is shown", () => /"deliveryId": "([^"]+)"/.exec(shown)?.[1], PATIENCE_MS);
  await until("who it was is shown too", () => shown.includes('"name": "Ada"'), PATIENCE_MS);
  follow.stdin.end(`{"ack":{"deliveryIds":["${id}"]}}\n`);
  expect(await ended).toBe(0);
  await stop(run);
});

test("Redis keeps everything on disk before it answers, and only its owner may read what is kept", async () => {
  const run = await start();
  await run.ready();
  const redis = createClient({ socket: { path: join(run.folder, "redis/redis.sock"), tls: false } });
  redis.on("error", () => undefined);
  await redis.connect();
  expect(await redis.configGet(["appendonly", "appendfsync"])).toMatchObject({
    appendonly: "yes",
    appendfsync: "always",
  });
  redis.destroy();
  const modes = ["", "settings.json", "logs", "logs/core.log", "redis", "redis/redis.sock"].map(
    (path) => statSync(join(run.folder, path)).mode & 0o077,
  );
  expect(modes).toEqual([0, 0, 0, 0, 0, 0]);
  await stop(run);
});

test("a data folder that no socket's path fits in works over a loopback port with a password", async () => {
  const parent = newFolder();
  const folder = folderBelow(parent, `${"deep/".repeat(20)}and with blanks`);
  const first = await start({ folder });
  const page = await first.ready();
  expect(await paste(snippet(page, REPORT))).toContain("202 Accepted");
  const command = living(folder).find((each) => REDIS.test(each.command))?.command;
  expect(command).toMatch(/127\.0\.0\.1:\d+/);
  await stop(first);
  const second = await start({ folder });
  expect(fact(await second.ready(), "workspace")).toBe(fact(page, "workspace"));
  await stop(second);
  await nothingIsLeft(parent);
});

test("with REDIS_URL that Redis is used, and none is started", async () => {
  const redis = await startTestRedis();
  const run = await start({ env: { REDIS_URL: redis.url } });
  const page = await run.ready();
  expect(await paste(snippet(page, REPORT))).toContain("202 Accepted");
  expect(living(run.folder).some(({ command }) => REDIS.test(command))).toBe(false);
  await stop(run);
  await redis.close();
});

describe("a taken port is one line that names the setting to change", () => {
  test.each(Object.keys(LISTENERS))("%s", async (name) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const run = await start({ env: { [name]: taken } });
    expect(await run.exited).toBe(1);
    expect(run.printedErrors()).toMatch(
      new RegExp(`^${name}: ${taken} is taken by another program\\. Set another address.*\\n$`),
    );
    expect(living(run.folder)).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });
});

test("the chat is where the page says, and with DEMO=off neither it nor the game runs", async () => {
  const run = await start();
  const page = await run.ready();
  const answer = await fetch(fact(page, "chat"));
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(statSync(join(run.folder, "chat/push.key")).mode & 0o077).toBe(0);
  await stop(run);

  const without = await start({ env: { DEMO: "off" } });
  expect(fact(await without.ready(), "chat")).toBe("");
  expect(living(without.folder).some(({ command }) => /dist\/demo/.test(command))).toBe(false);
  await stop(without);
});

test("the chat can be pushed to, and no roots that somebody set are lost by it", async () => {
  const others = join(newFolder(), "others.pem");
  writeFileSync(others, rootCertificates[0] ?? "");
  const run = await start({ env: { PUSH_CA: others } });
  const page = await run.ready();
  const ada = await joinChat(fact(page, "chat"), "Ada");
  expect(await ada.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
  await ada.say("/play");
  await ada.sees("Trivia");
  expect([...ada.exchanges.values()].some(({ what }) => what === "push")).toBe(true);
  ada.leave();
  const roots = readFileSync(join(run.folder, "chat/push-roots.pem"), "utf8");
  expect(roots.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  await stop(run);
});

test("without openssl the chat polls only, and says so", async () => {
  const run = await start({ env: { PATH: pathWithout("openssl") } });
  const page = await run.ready();
  expect(run.printed()).toContain("· game and chat: start, without pushes: they need openssl\n");
  const ada = await joinChat(fact(page, "chat"), "Ada");
  expect(ada.link().whyFixed).toMatch(/certificate/);
  expect(await ada.ask("PUT", "/link/mode", { mode: "push" })).toBe(409);
  ada.leave();
  await stop(run);
});

test("a second start on the same folder says that it runs already, and leaves the first alone", async () => {
  const first = await start();
  const page = await first.ready();
  const second = await start({ folder: first.folder });
  expect(await second.exited).toBe(1);
  expect(second.printedErrors()).toMatch(
    new RegExp(`^The service runs already on .* \\(process ${first.child.pid}\\)\\..*\\n$`),
  );
  expect(await paste(snippet(page, REPORT))).toContain("202 Accepted");
  await stop(first);
});

test("--help says what there is, and anything else is pointed to it", async () => {
  const help = await start({ args: ["--help"] });
  expect(await help.exited).toBe(0);
  for (const word of ["DATA_DIR", "REDIS_URL", "EDGE_LISTEN", "127.0.0.1:50052", "Ctrl-C"]) {
    expect(help.printed()).toContain(word);
  }
  const other = await start({ args: ["--prot=1"] });
  expect(await other.exited).toBe(64);
  expect(other.printedErrors()).toContain("npm start -- --help");
});

test("settings that are at fault are told of at once", async () => {
  const run = await start({ env: { EDGE_LISTEN: "8080", CORE_LISTEN: "here" } });
  expect(await run.exited).toBe(78);
  expect(run.printedErrors()).toMatch(/EDGE_LISTEN must be host:port[^]*CORE_LISTEN must be host:port/);
});

test("what keeps core from starting is shown with where its log is", async () => {
  const run = await start({ env: { SECRETS_KEY: "too-short" } });
  expect(await run.exited).toBe(1);
  expect(run.printedErrors()).toMatch(
    /^core has ended by itself \(exit code 78\)\. Its log is .*logs\/core\.log/,
  );
  expect(run.printedErrors()).toContain("SECRETS_KEY has a key that is not 32 bytes");
  await nothingIsLeft(run.folder);
});
