import { execFileSync } from "node:child_process";
import { post } from "../harness/bridge";
import { connectRedis } from "../../core/store/redis/redis";
import { startTestRedis } from "../harness/redis";
import { startRig, testRig, type Rig } from "../harness/rig";
import { createWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { nth } from "./clients";
import { expectSound, report, survive, testWith } from "./fault";
import { startLoad } from "./load";

const rig = testRig(startTestRedis);

/** Waits until every core reports that it is not ready because of Redis. */
async function untilRedisIsMissed({ cores }: Rig): Promise<void> {
  for (const core of cores)
    await until("the core is not ready, because of Redis", async () => {
      const { status, reason } = await core.readiness();
      return status === 503 && /Redis/.test(reason);
    });
}
const untilReady = (of: Rig) => until("the cores are ready", of.areReady);

// contract: post-stored, poll-no-skip
test("when Redis is killed and restarts with its append-only file, no acknowledged event is lost", async () => {
  await survive(rig, {
    name: "Redis restarted with its file",
    async happens() {
      await rig.redis.kill();
      await untilRedisIsMissed(rig);
      await rig.redis.restart();
      await untilReady(rig);
    },
  });
});

// contract: envelope-sequence
test("when Redis restarts empty, followers continue, and no event that is accepted afterwards is lost", async () => {
  const before = await startLoad(rig);
  try {
    await before.grows();
    await rig.redis.kill();
    await untilRedisIsMissed(rig);
    await before.abandon();
    await rig.redis.restart({ empty: true });
    await untilReady(rig);
    // The followers of the first load continue.
    const after = await startLoad(rig, { facts: before.facts });
    await after.grows();
    const became = await after.finish();
    report("Redis restarted empty", after, became, [
      "the account covers only events that were accepted or published after the restart",
    ]);
    expectSound(became);
    expect(before.facts.all.filter(({ saw }) => saw === "wrong")).toEqual([]);
  } finally {
    await before.stopFollowing();
  }
});

test("when Redis is full, POSTs are answered with 503, and no event is partly stored", async () => {
  const admin = await connectRedis({ url: rig.redis.url, onError: () => undefined });
  const limit = (bytes: string) => admin.command("", ["CONFIG", "SET", "maxmemory", bytes]);
  const probe = await createWorkspace(nth(rig.cores, 0).clients);
  let full = 0;
  try {
    await survive(rig, {
      name: "Redis at maxmemory",
      async happens() {
        await limit("1mb");
        await until("POSTs are answered with 503", async () => {
          const event = { type: "message", id: `full ${full}`, channel: "c", user: { id: "u" }, text: "x" };
          const { status, headers } = await post(nth(rig.edges, 0).url, probe, event, { from: "127.0.3.1" });
          expect([202, 503]).toContain(status);
          if (status === 202) return false;
          expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
          full += 1;
          return full >= 20;
        });
        await limit("0");
      },
    });
    expect(full).toBeGreaterThanOrEqual(20);
  } finally {
    await admin.close();
  }
});

const REFUSED = "a disk without space for the append-only file";
// contract: post-stored
testWith(
  "prlimit",
  "it limits the file size of a running process (util-linux)",
  REFUSED,
  "when the disk is full, requests are answered with 503, and no acknowledged event is lost",
  async () => {
    const own = await startRig(() => startTestRedis([], "trap '' XFSZ"));
    try {
      await survive(own, {
        name: REFUSED,
        async happens() {
          execFileSync("prlimit", ["--pid", String(own.redis.pid), "--fsize=1000:1000"]);
          await untilRedisIsMissed(own);
          await own.redis.restart();
          await untilReady(own);
        },
      });
    } finally {
      await own.close();
    }
  },
);
