import { join } from "node:path";
import { until } from "../harness/wait";
import {
  CHAT,
  cleanUp,
  CORE,
  EDGE,
  fact,
  GAME,
  GUARD,
  killIfThere,
  living,
  nothingIsLeft,
  paste,
  PATIENCE_MS,
  pidOf,
  REDIS,
  snippet,
  start,
} from "./npm-start";

jest.setTimeout(2 * PATIENCE_MS);
afterAll(cleanUp);

describe("a part that ends by itself is named with its log, and the rest stops", () => {
  test.each([
    ["core", CORE],
    ["edge", EDGE],
    ["redis", REDIS],
    ["game", GAME],
    ["chat", CHAT],
  ])("%s", async (name, command) => {
    const run = await start();
    await run.ready();
    process.kill(pidOf(run.folder, command), "SIGKILL");
    expect(await run.exited).toBe(1);
    expect(run.printedErrors()).toContain(
      `${name} has ended by itself (SIGKILL). Its log is ${join(run.folder, `logs/${name}.log`)}`,
    );
    await nothingIsLeft(run.folder);
  });
});

describe("a start that was killed", () => {
  test("takes everything along", async () => {
    const run = await start();
    await run.ready();
    run.child.kill("SIGKILL");
    await nothingIsLeft(run.folder);
  });

  test("does not keep the next from starting at once, at the same addresses, with all that was held", async () => {
    const killed = await start();
    const page = await killed.ready();
    const [edgeHealth = "", coreHealth = ""] = Array.from(
      page.matchAll(/http:\/\/(\S+)\/ready/g),
      ([, at]) => at,
    );
    const env = {
      EDGE_LISTEN: fact(page, "edge").replace("http://", ""),
      CORE_LISTEN: fact(page, "core"),
      EDGE_HEALTH_LISTEN: edgeHealth,
      CORE_HEALTH_LISTEN: coreHealth,
    };
    await paste(snippet(page, 2));
    killed.child.kill("SIGKILL");
    const next = await start({ env, folder: killed.folder });
    const again = await next.ready();
    expect(fact(again, "workspace")).toBe(fact(page, "workspace"));
    expect(fact(again, "core")).toBe(env.CORE_LISTEN);
    expect(await paste(snippet(again, 3))).toContain("Who is in?");
    next.child.kill("SIGINT");
    expect(await next.exited).toBe(0);
    await nothingIsLeft(killed.folder);
  });

  test("and left its Redis behind has it ended by the next, which reads what it held", async () => {
    const killed = await start();
    const page = await killed.ready();
    await paste(snippet(page, 2));
    const redis = pidOf(killed.folder, REDIS);
    for (const { pid, command } of living(killed.folder)) {
      if (pid !== redis && GUARD.test(command)) killIfThere(pid);
    }
    for (const { pid } of living(killed.folder)) if (pid !== redis) killIfThere(pid);
    await until("only Redis is left", () => living(killed.folder).length === 1, PATIENCE_MS);

    const next = await start({ folder: killed.folder });
    const again = await next.ready();
    expect(pidOf(killed.folder, REDIS)).not.toBe(redis);
    expect(await paste(snippet(again, 3))).toContain("Who is in?");
    next.child.kill("SIGINT");
    expect(await next.exited).toBe(0);
    await nothingIsLeft(killed.folder);
  });
});
