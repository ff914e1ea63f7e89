import { failOverUnderLoad, killFollowed, reportLine } from "../harness/failover";
import type { RedisNode } from "../harness/redis-node";
import { startTestSentinel, type TestSentinel } from "../harness/redis-sentinel";
import { until } from "../harness/wait";

const FAILOVER_MS = 60_000;

let watched: TestSentinel;
let dead: RedisNode;
beforeAll(async () => {
  watched = await startTestSentinel();
}, 120_000);
afterEach(async () => {
  if (!dead.isUp) await dead.start();
  await watched.untilWhole();
}, 120_000);
afterAll(() => watched.close());

async function kill(): Promise<void> {
  const master = await watched.master();
  dead = master;
  await killFollowed(
    master,
    watched.servers.find((server) => server !== master),
  );
}

test("a master that is killed under load costs seconds, and nothing but what its replica did not have yet", async () => {
  const report = await failOverUnderLoad(watched.url, {}, kill, async () => undefined);
  process.stdout.write(reportLine("sentinel", report));
  // What was answered before the replica was seen to have it is there: how far one lags is the machine's to say.
  for (const ms of report.lostMs) expect(ms).toBeLessThanOrEqual(0);
}, 240_000);

// contract: post-stored, poll-no-skip, envelope-sequence
test("where a replica must confirm, nothing that was answered is lost", async () => {
  const settings = { REDIS_WAIT_REPLICAS: "1" };
  // Once there is a new master, which has no replica that could confirm until the killed one is back as that.
  const back = async (): Promise<void> => {
    const killed = dead;
    await until(
      "there is a new master",
      async () => (await watched.master().catch(() => killed)) !== killed,
      FAILOVER_MS,
    );
    await killed.start();
  };
  const report = await failOverUnderLoad(watched.url, settings, kill, back);
  process.stdout.write(reportLine("sentinel, confirmed by 1", report));
  expect(report.lostMs).toEqual([]);
}, 240_000);
