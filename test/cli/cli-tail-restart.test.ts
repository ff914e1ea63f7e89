import { EXIT } from "../../cli/exit-code";
import { poll } from "../harness/bridge";
import { startCli } from "../harness/cli";
import { freePort, startCore, startEdge } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { connectToCore } from "../harness/service";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

// time: ordering
test("a tail survives a restart of core, and says that it waits", async () => {
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
    const workspace = await createWorkspaceApi(clients.workspaces).make();

    const tail = startCli(`tail deliveries ${workspace.id}`, { corePort: port });
    closers.unshift(tail.interrupt);
    await until("health is shown", () => tail.lines().some((line) => line.includes("last poll")));
    await first.stop();
    await until("it says that it waits", () => tail.stderr().includes("waiting for it to come back"));

    const second = await start();
    closers.unshift(() => second.stop());
    const polled = () => poll(`http://127.0.0.1:${edge.port}`, workspace);
    // It may not be back yet when the first polls are made.
    await until(
      "a poll is shown",
      async () => (await polled()).status === 200 && tail.lines().some((line) => / poll +success/.test(line)),
    );
    tail.interrupt();
    expect((await tail.ended).code).toBe(EXIT.DONE);
  } finally {
    for (const close of closers) await close();
  }
});
