import { execFileSync } from "node:child_process";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait";
import { cleanUp, newFolder, nothingIsLeft, paste, PATIENCE_MS, snippet, start } from "./npm-start";

jest.setTimeout(2 * PATIENCE_MS);
afterAll(cleanUp);

/** A PATH with nothing on it but node and these scripts. */
function pathWith(scripts: Readonly<Record<string, string>> = {}): string {
  const folder = newFolder();
  symlinkSync(process.execPath, join(folder, "node"));
  for (const [name, body] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }
  return folder;
}

const REAL_SERVER = execFileSync("sh", ["-c", "command -v redis-server || command -v valkey-server"])
  .toString()
  .trim();

/** An apt-get that notes what it is asked and "installs" a server beside itself. */
function fakeAptGet(notes: string): string {
  return `
[ "$1" = --version ] && exit 0
echo "$@" >> ${notes}
[ "$1" = install ] || exit 0
printf '#!/bin/sh\\nexec ${REAL_SERVER} "$@"\\n' > "\${0%/*}/redis-server"
/bin/chmod +x "\${0%/*}/redis-server"`;
}

const asRoot = process.getuid?.() === 0 ? test : test.skip;

test("without a Redis or a package manager one line says what to install", async () => {
  const run = await start({ env: { PATH: pathWith() } });
  expect(await run.exited).toBe(1);
  expect(run.printedErrors()).toBe(
    "Redis 7 or Valkey is needed: install redis-server or valkey-server and have it on the PATH, " +
      "or set REDIS_URL to one that runs.\n",
  );
  await nothingIsLeft(run.folder);
});

test("a Redis that is too old to have functions is none", async () => {
  const path = pathWith({ "redis-server": 'echo "Redis server v=6.2.14 sha=00000000:0"' });
  const run = await start({ env: { PATH: path } });
  expect(await run.exited).toBe(1);
  expect(run.printedErrors()).toMatch(/^Redis 7 or Valkey is needed: .*\n$/);
});

test("valkey-server does where there is no redis-server", async () => {
  const path = pathWith({
    "valkey-server": `
[ "$1" = --version ] && echo "Valkey server v=8.0.1 sha=00000000:0" && exit 0
exec ${REAL_SERVER} "$@"`,
  });
  const run = await start({ env: { PATH: path } });
  await run.ready();
  run.child.kill("SIGINT");
  expect(await run.exited).toBe(0);
});

asRoot("the package manager installs a Redis where there is none, once", async () => {
  const notes = join(newFolder(), "notes");
  const path = pathWith({ "apt-get": fakeAptGet(notes) });
  const first = await start({ env: { PATH: path } });
  const page = await first.ready();
  expect(first.printed()).toContain("There is no Redis 7 here: apt-get installs one …");
  expect(await paste(snippet(page, 1))).toContain("202 Accepted");
  first.child.kill("SIGINT");
  expect(await first.exited).toBe(0);
  const asked = "update\ninstall -y --no-install-recommends redis-server\n";
  expect(execFileSync("cat", [notes]).toString()).toBe(asked);

  const second = await start({ env: { PATH: path }, folder: first.folder });
  await second.ready();
  expect(execFileSync("cat", [notes]).toString()).toBe(asked);
  second.child.kill("SIGINT");
  expect(await second.exited).toBe(0);
});

asRoot("where the package manager fails, one line says why and what to run by hand", async () => {
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

asRoot("Ctrl-C while the package manager works stops it too", async () => {
  const started = join(newFolder(), "started");
  const path = pathWith({
    "apt-get": `[ "$1" = --version ] && exit 0\n: > ${started}\nexec /bin/sleep 600`,
  });
  const run = await start({ env: { PATH: path } });
  await until("the package manager works", () => existsSync(started), PATIENCE_MS);
  run.child.kill("SIGINT");
  expect(await run.exited).toBe(0);
  await nothingIsLeft(run.folder);
});
