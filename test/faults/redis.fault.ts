import { execFileSync } from "node:child_process";
import { post } from "../harness/bridge";
import { connectRedis, type Redis } from "../../core/store/redis";
import type { TestRedis } from "../harness/redis";
import { createWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { nth } from "./clients";
import { expectSound, report, suffer, testWhere } from "./fault";
import { startLoad } from "./load";
import { startRig, startRigOnRedis, type Rig } from "./rig";
import { startWrappedRedis, whyNoFileLimits } from "./wrapped-redis";

let rig: Rig;
let redis: TestRedis;
beforeAll(async () => {
  ({ rig, redis } = await startRigOnRedis());
});
afterAll(() => rig.close());

/** Waits until no core is ready, and each says that Redis is the reason. */
async function untilRedisIsMissed({ cores }: Rig): Promise<void> {
  for (const core of cores)
    await until("the core is not ready, for want of Redis", async () => {
      const { status, reason } = await core.readiness();
      return status === 503 && /Redis/.test(reason);
    });
}

async function untilReady({ cores }: Rig): Promise<void> {
  for (const core of cores)
    await until("the core is ready", async () => (await core.readiness()).status === 200);
}

// contract: post-stored, poll-no-skip
test("when Redis is killed and comes back with its file, nothing that was answered is lost", async () => {
  const became = await suffer(rig, {
    name: "Redis restarted with its file",
    async happens() {
      await redis.kill();
      await untilRedisIsMissed(rig);
      await redis.restart();
      await untilReady(rig);
    },
  });
  expectSound(became);
});

// contract: envelope-sequence
test("when Redis comes back empty, nothing that is accepted from then on is lost, and followers carry on", async () => {
  const before = await startLoad(rig);
  try {
    await before.grows();
    await redis.kill();
    await untilRedisIsMissed(rig);
    await before.abandon();
    await redis.restart({ empty: true });
    await untilReady(rig);
    // The followers are those that were there before.
    const after = await startLoad(rig, { facts: before.facts });
    await after.grows();
    const became = await after.finish();
    report("Redis restarted empty", after, became, ["the account is of what was accepted after"]);
    expectSound(became);
    expect(before.facts.all.filter(({ saw }) => saw === "wrong")).toEqual([]);
  } finally {
    await before.stopFollowing();
  }
});

test("when Redis is full, events are refused with 503, and none is half-written", async () => {
  const admin: Redis = await connectRedis({ url: redis.url, onError: () => undefined });
  const limit = (bytes: string) => admin.command("", ["CONFIG", "SET", "maxmemory", bytes]);
  const probe = await createWorkspace(nth(rig.cores, 0).clients);
  let full = 0;
  try {
    const became = await suffer(rig, {
      name: "Redis at maxmemory",
      async happens() {
        await limit("1mb");
        await until("posts are refused", async () => {
          const event = { type: "message", id: `full ${full}`, channel: "c", user: { id: "u" }, text: "x" };
          const url = `http://127.0.0.1:${nth(rig.edges, 0).port}`;
          const { status, headers } = await post(url, probe, event, { from: "127.0.3.1" });
          expect([202, 503]).toContain(status);
          if (status === 202) return false;
          expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
          full += 1;
          return full >= 20;
        });
        await limit("0");
      },
    });
    expectSound(became);
    expect(full).toBeGreaterThanOrEqual(20);
  } finally {
    await admin.close();
  }
});

// contract: post-stored
testWhere(
  whyNoFileLimits(),
  "a disk that refuses the append-only file",
  "when the disk is full, events are refused with 503, and everything that was answered is there afterwards",
  async () => {
    const disk = await startWrappedRedis("trap '' XFSZ");
    const own = await startRig({ redisUrl: disk.url });
    try {
      const became = await suffer(own, {
        name: "a disk that refuses the append-only file",
        async happens() {
          execFileSync("prlimit", ["--pid", String(disk.pid), "--fsize=1000:1000"]);
          await untilRedisIsMissed(own);
          await disk.restart();
          await untilReady(own);
        },
      });
      expectSound(became);
    } finally {
      await own.close();
      await disk.close();
    }
  },
);
