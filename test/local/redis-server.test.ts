import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait";
import {
  cleanUp,
  newFolder,
  NO_DEMO,
  nothingIsLeft,
  paste,
  pathWith,
  snippet,
  start,
  stop,
} from "./npm-start";

afterAll(cleanUp);

const REAL_SERVER = execFileSync("sh", ["-c", "command -v redis-server || command -v valkey-server"])
  .toString()
  .trim();

/** An apt-get that notes its arguments and "installs" a server beside itself. */
function fakeAptGet(notes: string): string {
  return `
[ "$1" = --version ] && exit 0
echo "$@" >> ${notes}
[ "$1" = install ] || exit 0
printf '#!/bin/sh\\nexec ${REAL_SERVER} "$@"\\n' > "\${0%/*}/redis-server"
/bin/chmod +x "\${0%/*}/redis-server"`;
}

const asRoot = process.getuid?.() === 0 ? test : test.skip;

test("without a Redis and a package manager, one line says what to install", async () => {
  const run = await start({ env: { PATH: pathWith() } });
  expect(await run.exited).toBe(1);
  expect(run.printedErrors()).toBe(
    "Redis 7 or Valkey is needed: install redis-server or valkey-server and have it on the PATH, " +
      "or set REDIS_URL to one that runs.\n",
  );
  await nothingIsLeft(run.folder);
});

test("a Redis that is too old for functions is refused", async () => {
  const path = pathWith({ "redis-server": 'echo "Redis server v=6.2.14 sha=00000000:0"' });
  const run = await start({ env: { PATH: path } });
  expect(await run.exited).toBe(1);
  expect(run.printedErrors()).toMatch(/^Redis 7 or Valkey is needed: .*\n$/);
});

test("valkey-server serves where there is no redis-server", async () => {
  const path = pathWith({
    "valkey-server": `
[ "$1" = --version ] && echo "Valkey server v=8.0.1 sha=00000000:0" && exit 0
exec ${REAL_SERVER} "$@"`,
  });
  const run = await start({ env: { PATH: path, ...NO_DEMO } });
  await run.ready();
  await stop(run);
});

asRoot("the package manager installs a missing Redis, once", async () => {
  const notes = join(newFolder(), "notes");
  const path = pathWith({ "apt-get": fakeAptGet(notes) });
  const env = { PATH: path, ...NO_DEMO };
  const first = await start({ env });
  const page = await first.ready();
  expect(first.printed()).toContain("There is no Redis 7 here: apt-get installs one …");
  expect(await paste(snippet(page, 1))).toContain("202 Accepted");
  await stop(first);
  const asked = "update\ninstall -y --no-install-recommends redis-server\n";
  expect(readFileSync(notes, "utf8")).toBe(asked);

  const second = await start({ env, folder: first.folder });
  await second.ready();
  expect(readFileSync(notes, "utf8")).toBe(asked);
  await stop(second);
});

asRoot("when the package manager fails, one line says why and what to run by hand", async () => {
  const path = pathWith({
    "apt-get": '[ "$1" = --version ] && exit 0\necho "E: Unable to locate package" >&2\nexit 100',
  });
  const run = await start({ env: { PATH: path } });
  expect(await run.exited).toBe(1);
  expect(run.printedErrors()).toBe(
    "Redis 7 or Valkey is needed, and apt-get could not install it (E: Unable to locate package): " +
      "run sudo apt-get install -y --no-install-recommends redis-server, or set REDIS_URL to one that runs.\n",
  );
});

asRoot("Ctrl-C stops a package manager that is at work", async () => {
  const started = join(newFolder(), "started");
  const path = pathWith({
    "apt-get": `[ "$1" = --version ] && exit 0\n: > ${started}\nexec /bin/sleep 600`,
  });
  const run = await start({ env: { PATH: path } });
  await until("the package manager works", () => existsSync(started));
  run.child.kill("SIGINT");
  expect(await run.exited).toBe(0);
  await nothingIsLeft(run.folder);
});
