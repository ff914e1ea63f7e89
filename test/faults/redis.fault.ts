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
let close: () => Promise<void> = async () => undefined;
afterEach(() => close());

const SEEN_MS = 30_000;

async function start(): Promise<void> {
  ({ rig, redis } = await startRigOnRedis());
  close = () => rig.close();
}

/** Waits until no core is ready, and each says that it is Redis that is missing. */
async function untilRedisIsMissed(): Promise<void> {
  for (const core of rig.cores)
    await until(
      "the core says that Redis is why it is not ready",
      async () => {
        const { status, reason } = await core.readiness();
        return status === 503 && /Redis/.test(reason);
      },
      SEEN_MS,
    );
}

async function untilReady(): Promise<void> {
  for (const core of rig.cores)
    await until("the core is ready", async () => (await core.readiness()).status === 200, SEEN_MS);
}

// contract: post-stored, poll-no-skip
test("when Redis is killed and comes back with its file, nothing that was answered is lost", async () => {
  await start();
  const became = await suffer(rig, {
    name: "Redis restarted with its file",
    async happens() {
      await redis.kill();
      await untilRedisIsMissed();
      await redis.restart();
      await untilReady();
    },
  });
  expectSound(became);
});

// contract: envelope-sequence
test("when Redis comes back empty, functions, groups and readers come back by themselves, and nothing that is accepted from then on is lost", async () => {
  await start();
  const before = await startLoad(rig);
  try {
    await before.grows();
    await redis.kill();
    await untilRedisIsMissed();
    await before.abandon();
    await redis.restart({ empty: true });
    await untilReady();
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
  await start();
  const admin: Redis = await connectRedis({ url: redis.url, onError: () => undefined });
  const limit = (bytes: string) => admin.command("", ["CONFIG", "SET", "maxmemory", bytes]);
  const probe = await createWorkspace(nth(rig.cores, 0).clients);
  let full = 0;
  try {
    const became = await suffer(rig, {
      name: "Redis at maxmemory",
      async happens() {
        await limit("1mb");
        await until(
          "posts are refused",
          async () => {
            const event = { type: "message", id: `full ${full}`, channel: "c", user: { id: "u" }, text: "x" };
            const url = `http://127.0.0.1:${nth(rig.edges, 0).port}`;
            const { status, headers } = await post(url, probe, event, { from: "127.0.3.1" });
            expect([202, 503]).toContain(status);
            if (status === 503) expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
            if (status === 503) full += 1;
            return full >= 20;
          },
          SEEN_MS,
        );
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
  "when the disk takes no more, events are refused with 503, and all that was answered is there when it does again",
  async () => {
    const disk = await startWrappedRedis("trap '' XFSZ");
    rig = await startRig({ redisUrl: disk.url });
    close = async () => {
      await rig.close();
      await disk.close();
    };
    const became = await suffer(rig, {
      name: "a disk that refuses the append-only file",
      async happens() {
        execFileSync("prlimit", ["--pid", String(disk.pid), "--fsize=1000:1000"]);
        await untilRedisIsMissed();
        await disk.restart();
        await untilReady();
      },
    });
    expectSound(became);
  },
);
