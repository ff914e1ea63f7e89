import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait";
import { newFolder, NO_DEMO, nothingIsLeft, paste, pathWith, start, stop } from "./npm-start";

const FIND = "command -v redis-server || command -v valkey-server";
const REAL_SERVER = execFileSync("sh", ["-c", FIND]).toString().trim();

/**
 * Returns a script that replaces apt-get. The script logs its arguments, and simulates the installation of a server in
 * its own folder.
 */
function fakeAptGet(notes: string): string {
  return `
[ "$1" = --version ] && exit 0
echo "$@" >> ${notes}
[ "$1" = install ] || exit 0
printf '#!/bin/sh\\nexec ${REAL_SERVER} "$@"\\n' > "\${0%/*}/redis-server"
/bin/chmod +x "\${0%/*}/redis-server"`;
}

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? test : test.skip;

const BY_HAND = "install redis-server or valkey-server and put it on the PATH";
const TOO_OLD = 'echo "Redis server v=6.2.14 sha=00000000:0"';
const FAILING = '[ "$1" = --version ] && exit 0\necho "E: Unable to locate package" >&2\nexit 100';
const FAILED =
  ", and apt-get could not install it (E: Unable to locate package): " +
  "run sudo apt-get install -y --no-install-recommends redis-server";

type Row = [string, Record<string, string>, string];
const FAILURE: Row = ["if the package manager fails", { "apt-get": FAILING }, FAILED];

test.each<Row>([
  ["without Redis and without a package manager", {}, `: ${BY_HAND}`],
  ["with a Redis older than version 7", { "redis-server": TOO_OLD }, `: ${BY_HAND}`],
  ...(isRoot ? [FAILURE] : []),
])("%s, npm start fails with one line that says what to do", async (_what, scripts, words) => {
  const run = await start({ env: { PATH: pathWith(scripts) } });
  expect(await run.exited).toBe(1);
  const line = `Redis 7 or Valkey is needed${words}, or set REDIS_URL to a running server.\n`;
  expect(run.printedErrors()).toBe(line);
  await nothingIsLeft(run.folder);
});

test("npm start uses valkey-server if redis-server is not installed", async () => {
  const path = pathWith({
    "valkey-server": `
[ "$1" = --version ] && echo "Valkey server v=8.0.1 sha=00000000:0" && exit 0
exec ${REAL_SERVER} "$@"`,
  });
  const run = await start({ env: { PATH: path, ...NO_DEMO } });
  await run.ready();
  await stop(run);
});

asRoot("the package manager installs a missing Redis only once", async () => {
  const notes = join(newFolder(), "notes");
  const env = { PATH: pathWith({ "apt-get": fakeAptGet(notes) }), ...NO_DEMO };
  const first = await start({ env });
  const page = await first.ready();
  expect(first.printed()).toContain("Redis 7 is not installed: installing it with apt-get …");
  expect(await paste(page, "report")).toContain("202 Accepted");
  await stop(first);
  const asked = "update\ninstall -y --no-install-recommends redis-server\n";
  expect(readFileSync(notes, "utf8")).toBe(asked);

  const second = await start({ env, folder: first.folder });
  await second.ready();
  expect(readFileSync(notes, "utf8")).toBe(asked);
  await stop(second);
});

asRoot("Ctrl-C stops a running package manager", async () => {
  const started = join(newFolder(), "started");
  const path = pathWith({
    "apt-get": `[ "$1" = --version ] && exit 0\n: > ${started}\nexec /bin/sleep 600`,
  });
  const run = await start({ env: { PATH: path } });
  await until("the package manager runs", () => existsSync(started));
  run.child.kill("SIGINT");
  expect(await run.exited).toBe(0);
  await nothingIsLeft(run.folder);
});
