import { existsSync } from "node:fs";
import { join } from "node:path";
import { startSilentServer } from "../harness/silent-server";
import { until } from "../harness/wait";
import { living, nothingIsLeft, packageWithStart, pathWith, start, stop } from "./npm-start";

const STOPS = "· chat: stopping\n· game: stopping\n· edge: stopping\n· core: stopping\n· redis: stopping\n";

describe("how npm start stops", () => {
  // By default, `stop` sends SIGTERM only to the process that the test started.
  test("all parts stop in order, and no process is left, after SIGHUP to the whole process group", async () => {
    const run = await start();
    await run.ready();
    // The running processes are npm start, its five parts (Redis, core, edge, game and chat), and a guard for each
    // part.
    expect(living(run.folder)).toHaveLength(1 + 2 * 5);
    await stop(run, () => process.kill(-(run.child.pid ?? 0), "SIGHUP"));
    expect(run.printed()).toContain(STOPS);
  });

  test.each([
    ["Ctrl-C in the terminal of npm start", "SIGINT", "group"],
    ["SIGTERM to npm itself", "SIGTERM", "npm"],
  ] as const)("all parts stop in order, and no process is left, after %s", async (_title, signal, to) => {
    const run = await start({ npmIn: packageWithStart() });
    await run.ready();
    const npm = run.child.pid ?? 0;
    process.kill(to === "group" ? -npm : npm, signal);
    await run.exited;
    await nothingIsLeft(run.folder);
    expect(run.printed()).toContain(STOPS);
  });

  test("no process is left after Ctrl-C during the build", async () => {
    // Like the real compiler, this simulated build does not stop on SIGTERM.
    const build = "trap '' TERM; echo begun > begun; sleep 600 & wait; wait";
    const npmIn = packageWithStart(build);
    const run = await start({ npmIn });
    await until("the build runs", () => existsSync(join(npmIn, "begun")));
    process.kill(-(run.child.pid ?? 0), "SIGINT");
    await run.exited;
    await nothingIsLeft(run.folder);
    expect(run.printed()).toBe("· building the service and the dashboard\n");
  });

  test.each([
    // A process that has just started does not handle signals yet, so Ctrl-C can kill it. Its exit code is then null.
    ["as soon as the process exists", "", [0, null]],
    ["while Redis starts", "· Redis:", [0]],
    ["while core and the edge start", "· core and edge: start", [0]],
  ])("no process is left after Ctrl-C %s", async (_title, line, codes) => {
    // The run gets a fake redis-server on the PATH, or the address of a silent server, instead of Redis. Both never
    // answer, so the start waits.
    const version = '[ "$1" = --version ] && echo "Redis server v=7.2.4 sha=00000000:0" && exit 0';
    const PATH = pathWith({ "redis-server": `${version}\nexec /bin/sleep 600` });
    const silent = await startSilentServer();
    const run = await start({
      env: line === "· Redis:" ? { PATH } : { REDIS_URL: `redis://127.0.0.1:${silent.port}` },
    });
    await until(
      "the start has reached this step",
      () => living(run.folder).length > 0 && run.printed().includes(line),
    );
    process.kill(-(run.child.pid ?? 0), "SIGINT");
    expect(codes).toContain(await run.exited);
    await nothingIsLeft(run.folder);
    silent.close();
  });
});
