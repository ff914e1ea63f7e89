import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait";
import { cleanUp, living, newFolder, nothingIsLeft, PATIENCE_MS, PROJECT, start } from "./npm-start";

jest.setTimeout(2 * PATIENCE_MS);
afterAll(cleanUp);

describe("everything stops in order and no process is left", () => {
  test.each([
    ["SIGINT", "alone"],
    ["SIGINT", "with its whole group"],
    ["SIGTERM", "alone"],
    ["SIGTERM", "with its whole group"],
    ["SIGHUP", "with its whole group"],
  ] as const)("after %s to it %s", async (signal, to) => {
    const run = await start();
    await run.ready();
    const pid = run.child.pid ?? 0;
    expect(living(run.folder).length).toBe(1 + 2 * 5); // it; Redis, core, the edge, the game and the chat with a guard each
    process.kill(to === "alone" ? pid : -pid, signal);
    expect(await run.exited).toBe(0);
    expect(run.printed()).toMatch(
      /· chat: stops\n· game: stops\n· edge: stops\n· core: stops\n· redis: stops\n$/,
    );
    await nothingIsLeft(run.folder);
  });

  /** The project's own script, but for the build: other tests run what is built. */
  function packageWithStart(): string {
    const { scripts } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as {
      scripts: { start: string };
    };
    const script = scripts.start
      .replace("npm run --silent build", "true")
      .replace("dist/local/main.js", join(PROJECT, "dist/local/main.js"));
    const folder = newFolder();
    const content = { name: "start", version: "1.0.0", scripts: { start: script } };
    writeFileSync(join(folder, "package.json"), JSON.stringify(content));
    return folder;
  }

  test.each([
    ["Ctrl-C in the terminal of npm start", "SIGINT", "group"],
    ["SIGTERM to npm itself", "SIGTERM", "npm"],
  ] as const)("after %s", async (_title, signal, to) => {
    const run = await start({ command: { program: "npm", cwd: packageWithStart() } });
    await run.ready();
    const npm = run.child.pid ?? 0;
    process.kill(to === "group" ? -npm : npm, signal);
    await run.exited;
    await nothingIsLeft(run.folder);
  });

  test.each([
    ["at once", ""],
    ["while Redis starts", "· Redis:"],
    ["while core and the edge start", "· core and edge: start"],
  ])("after Ctrl-C during the start, %s", async (_title, line) => {
    const RUNS = "The service runs";
    for (let tries = 1; ; tries++) {
      const run = await start();
      await until(
        "it is that far",
        () => living(run.folder).length > 0 && run.printed().includes(line),
        PATIENCE_MS,
      );
      process.kill(-(run.child.pid ?? 0), "SIGINT");
      // Before it listens for signals the signal itself ends it.
      expect([0, null]).toContain(await run.exited);
      await nothingIsLeft(run.folder);
      // On a busy machine the start may be through before the signal goes out.
      if (run.printed().includes(RUNS) && tries < 5) continue;
      expect(run.printed()).not.toContain(RUNS);
      return;
    }
  });
});
