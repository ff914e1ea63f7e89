import { join } from "node:path";
import { until } from "../harness/wait";
import {
  fact,
  GUARD,
  killIfThere,
  living,
  NO_DEMO,
  nothingIsLeft,
  PARTS,
  paste,
  pidOf,
  start,
  stop,
} from "./npm-start";

describe("when a part exits unexpectedly, the error names the part and its log, and all other parts stop", () => {
  test.each(Object.entries(PARTS))("%s", async (name, command) => {
    // To test core and the edge faster, the run starts without the demo.
    const run = await start({ env: name === "core" || name === "edge" ? NO_DEMO : {} });
    await run.ready();
    process.kill(pidOf(run.folder, command), "SIGKILL");
    expect(await run.exited).toBe(1);
    expect(run.printedErrors()).toContain(
      `${name} stopped unexpectedly (SIGKILL). Its log is ${join(run.folder, `logs/${name}.log`)}`,
    );
    await nothingIsLeft(run.folder);
  });
});

describe("the start after a kill", () => {
  test("after npm start is killed, no process is left; the next start works at the same addresses, with all held events", async () => {
    const killed = await start();
    const page = await killed.ready();
    const probes = [...page.matchAll(/http:\/\/(\S+)\/ready/g)];
    const [edgeHealth = "", coreHealth = ""] = probes.map(([, at]) => at);
    const env = {
      EDGE_LISTEN: fact(page, "edge").replace("http://", ""),
      CORE_LISTEN: fact(page, "core"),
      EDGE_HEALTH_LISTEN: edgeHealth,
      CORE_HEALTH_LISTEN: coreHealth,
    };
    await paste(page, "publish");
    killed.child.kill("SIGKILL");
    const next = await start({ env, folder: killed.folder });
    const again = await next.ready();
    expect(fact(again, "workspace")).toBe(fact(page, "workspace"));
    expect(fact(again, "core")).toBe(env.CORE_LISTEN);
    expect(await paste(again, "poll")).toContain("Who is in?");

    next.child.kill("SIGKILL");
    await nothingIsLeft(next.folder);
  });

  test("if only Redis survives a kill, the next start stops it, and keeps the held events", async () => {
    const killed = await start({ env: NO_DEMO });
    await paste(await killed.ready(), "publish");
    const redis = pidOf(killed.folder, PARTS.redis);
    for (const { pid, command } of living(killed.folder)) {
      if (pid !== redis && GUARD.test(command)) killIfThere(pid);
    }
    for (const { pid } of living(killed.folder)) if (pid !== redis) killIfThere(pid);
    await until("only Redis is left", () => living(killed.folder).length === 1);

    const next = await start({ env: NO_DEMO, folder: killed.folder });
    const again = await next.ready();
    expect(pidOf(killed.folder, PARTS.redis)).not.toBe(redis);
    expect(await paste(again, "poll")).toContain("Who is in?");
    await stop(next);
  });
});
