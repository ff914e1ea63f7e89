import { EXIT } from "../../cli/exit-code";
import { poll } from "../harness/bridge";
import { startCli } from "../harness/cli";
import { freePort, startCore, startEdge } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { connectToCore, createWorkspace } from "../harness/service";
import { until } from "../harness/wait";

jest.setTimeout(120_000);

/** The machine may be busy: a process takes its time to start. */
const eventually: typeof until = (what, condition) => until(what, condition, 60_000);

test("a tail outlives a restart of core, and says that it waits", async () => {
  const closers: (() => unknown)[] = [];
  try {
    const redis = await startTestRedis();
    closers.unshift(() => redis.close());
    const port = await freePort();
    const start = () => startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${port}` });
    const first = await start();
    closers.unshift(() => first.stop());
    const edge = await startEdge(port);
    closers.unshift(() => edge.stop());
    const clients = connectToCore(port);
    closers.unshift(() => clients.close());
    const workspace = await createWorkspace(clients);

    const tail = startCli(["tail", "deliveries", workspace.id], { corePort: port });
    closers.unshift(() => tail.child.kill("SIGKILL"));
    await eventually("health is shown", () => tail.stdout().includes("last poll"));
    await first.stop();
    await eventually("it says that it waits", () => tail.stderr().includes("waiting for it to come back"));

    const second = await start();
    closers.unshift(() => second.stop());
    const polled = () => poll(`http://127.0.0.1:${edge.port}`, workspace);
    // It may not be back yet when the first polls are made.
    await eventually(
      "a poll is shown",
      async () => (await polled()).status === 200 && / poll +success/.test(tail.stdout()),
    );
    tail.child.kill("SIGINT");
    expect((await tail.ended).code).toBe(EXIT.DONE);
  } finally {
    for (const close of closers) await close();
  }
});
