import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { coloured } from "../../kit/terminal-colour";
import { NO_DEMO, newFolder, packageWithStart, pathWith, start, stop } from "./npm-start";
import { until } from "../harness/wait";

/** Returns the rows that `npm start` prints after its steps, when the service is running. */
function rowsOf(printed: string): readonly string[] {
  return printed
    .slice(printed.indexOf("\nThe service is running.") + 1)
    .trimEnd()
    .split("\n");
}

function keptIn(folder: string) {
  return JSON.parse(readFileSync(join(folder, "settings.json"), "utf8")) as {
    tokens: Record<string, string>;
    workspaces: Record<string, { secret: string }>;
  };
}

test("npm start finally prints eight rows, without secrets; the last row is the address at which to play", async () => {
  const run = await start();
  const commands = await run.ready();
  const rows = rowsOf(run.printed());
  expect(rows).toHaveLength(8);
  const names = rows.slice(2).map((row) => row.slice(0, 18).trim());
  expect(names).toEqual(["Write a bridge", "Write a game", "More", "Dashboard", expect.any(String), "Play"]);
  expect(rows[7]).toMatch(/^ {2}Play {12}http:\/\/127\.0\.0\.1:\d+ {2}\(each tab is a player\)$/);
  // Rows with DATA_DIR may be longer, because the path of a test's data folder is long.
  for (const row of rows.filter((each) => !each.includes("DATA_DIR=")))
    expect(row.length).toBeLessThanOrEqual(80);
  expect(run.printed()).not.toContain("\u001b");

  const { tokens, workspaces } = keptIn(run.folder);
  const secrets = [...Object.values(tokens), ...Object.values(workspaces).map(({ secret }) => secret)];
  expect(secrets.filter((secret) => run.printed().includes(secret))).toEqual([]);
  for (const secret of [tokens["game"], tokens["operator"], workspaces["private"]?.secret])
    expect(commands).toContain(secret);

  for (const guide of [rows[2], rows[3]]) {
    const { status } = await fetch(/http:\S+/.exec(guide ?? "")?.[0] ?? "");
    expect(status).toBe(200);
  }
  await stop(run);
});

test("each run of --commands prints a new sign-in link", async () => {
  const run = await start({ env: { ...NO_DEMO, FORCE_COLOR: "1" } });
  const link = /http:\S+#sign-in=\S+/;
  const [first, second] = [await run.ready(), await run.ready()].map((page) => link.exec(page)?.[0]);
  const printed = link.exec(stripVTControlCharacters(run.printed()))?.[0];
  expect(new Set([first, second, printed]).size).toBe(3);
  expect(rowsOf(run.printed()).at(-1)).toBe(`  ${coloured("link", printed ?? "")}`);
  await stop(run);
});

test("--commands fails and says why, if no service runs in the data folder, or if the service is still starting", async () => {
  const folder = newFolder();
  const never = await start({ folder, args: ["--commands"] });
  expect(await never.exited).toBe(1);
  const none = `No service is running in ${folder}. Run npm start, and then repeat this command in another terminal.\n`;
  expect([never.printed(), never.printedErrors()]).toEqual(["", none]);
  expect(existsSync(join(folder, "settings.json"))).toBe(false);

  const first = await start({ folder, env: NO_DEMO });
  await first.ready();
  await stop(first);
  const stopped = await start({ folder, args: ["--commands"] });
  expect([await stopped.exited, stopped.printedErrors()]).toEqual([1, none]);

  const version = '[ "$1" = --version ] && echo "Redis server v=7.2.4 sha=00000000:0" && exit 0';
  const PATH = pathWith({ "redis-server": `${version}\nexec /bin/sleep 600` });
  const starting = await start({ folder, env: { ...NO_DEMO, PATH } });
  await until("Redis starts", () => starting.printed().includes("· Redis:"));
  const early = await start({ folder, args: ["--commands"] });
  expect([await early.exited, early.printedErrors()]).toEqual([
    1,
    `The service in ${folder} is still starting. Repeat the command when it is running.\n`,
  ]);
  starting.child.kill("SIGINT");
  expect(await starting.exited).toBe(0);
});

test("`npm start` says that it builds before the build begins, and exits with the build's error if the build fails", async () => {
  const run = await start({ npmIn: packageWithStart("echo main.ts: error && exit 3") });
  expect(await run.exited).toBe(3);
  expect(run.printed()).toBe("· building the service and the dashboard\n");
  expect(run.printedErrors()).toMatch(/^main\.ts: error\n/);
});

test.each([
  ["--help", 0],
  ["--version", 0],
  ["--commands", 1],
])("`npm start -- %s` does not build", async (option, code) => {
  const run = await start({ npmIn: packageWithStart("exit 3"), args: [option] });
  expect(await run.exited).toBe(code);
});
