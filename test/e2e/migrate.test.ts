import { join } from "node:path";
import { connectRedis, type Redis } from "../../core/store/redis/redis";
import { asText } from "../../core/store/redis/reply";
import type { Workspace } from "../../core/domain/workspace";
import { openFormatOne, testFormatOne, type FormatOne } from "../harness/format-one";
import { startCore } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startTestCluster } from "../harness/redis-cluster";
import { startTestSentinel } from "../harness/redis-sentinel";
import { runProgram } from "../harness/run-program";
import { openTestStore, readPage } from "../harness/store";
import { until } from "../harness/wait";

const MARK = "16 format=2 since=1.0.0-beta.2";
const WORKSPACES = 6;
/** The text of many events, which together are too large for one step of the migration. */
const LARGE = "x".repeat(30_000);

let server: TestRedis;
let redis: Redis;
let old: FormatOne;
beforeEach(async () => {
  server = await startTestRedis(["--appendfsync", "no"]);
  redis = await connectRedis({ url: server.url, onError: () => undefined });
  old = await openFormatOne(server.url);
});
afterEach(async () => {
  await old.close();
  await redis.close();
  await server.close();
});

const migrate = (
  args: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
  url = server.url,
) => runProgram("core", { REDIS_URL: url, ...more }, ["migrate", ...args]);
const readMark = async () => asText(await redis.command("cb:shards", ["GET", "cb:shards"]));

/** Fills a store of format 1. Returns each workspace with its events. */
async function fill(store: FormatOne) {
  await store.mark();
  const filled: { workspace: Workspace; events: readonly string[] }[] = [];
  for (let i = 0; i < WORKSPACES; i++) {
    const workspace = await store.add();
    const texts = Array.from({ length: 20 + i }, (_, n) => `${i} ${n}`);
    const all = [
      ...(await store.publish(workspace, texts)),
      ...(await store.publish(workspace, i === 0 ? Array<string>(90).fill(LARGE) : [])),
    ];
    filled.push({ workspace, events: all.map(({ json }) => json) });
  }
  return filled;
}

type Filled = Awaited<ReturnType<typeof fill>>;

/** Fails unless the store of this release serves all events. */
async function expectServed(filled: Filled, url = server.url): Promise<void> {
  const store = await openTestStore(url);
  try {
    for (const { workspace, events } of filled) {
      const record = await store.workspaces.read(workspace.id);
      if (record === undefined) throw new Error("the workspace is missing");
      const page = await readPage(store, { record, page: { start: { from: "oldest" }, limit: 200 } });
      expect("events" in page && page.events.map(String)).toEqual(events);
    }
  } finally {
    await store.close();
  }
}

testFormatOne(
  "migrate converts the data, prints how many events it converted, and can be run again; a core then starts on the data",
  async () => {
    const filled = await fill(old);
    const count = filled.reduce((sum, { events }) => sum + events.length, 0);
    const dry = await migrate(["--dry-run"]);
    expect([dry.code, dry.stderr]).toEqual([0, ""]);
    expect(dry.stdout).toContain(`held events that would be converted: ${count}\n`);
    expect(dry.stdout).toContain("held events that could not be converted: 0\n");
    expect(await readMark()).toBe("16");

    const { code, stdout, stderr } = await migrate();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^migrates this Redis from format 1 to format 2\n/);
    expect(stdout).toContain(`workspaces: ${WORKSPACES}\nheld events converted: ${count}\n`);
    expect(await readMark()).toBe(`${MARK} unserved=0`);
    expect(await redis.command("", ["KEYS", "*:block:*"])).toEqual([]);
    expect(await redis.command("", ["KEYS", "*migration*"])).toEqual([]);

    const again = await migrate();
    expect([again.code, again.stdout]).toEqual([0, "this Redis already has format 2: nothing to migrate\n"]);
    const core = await startCore(server.url);
    expect(core.log).toContainEqual(expect.objectContaining({ level: "info", unserved: 0 }));
    await core.stop();
    await expectServed(filled);
  },
);

// The conversion of the workspaces starts after about 17 calls in a migration to format 2, and after about 56 calls in
// a migration to format 1.
const KILLS = [
  "2 sent",
  "18 answered",
  "22 sent",
  "27 answered",
  "58 answered",
  "64 sent",
  "70 answered",
  "90 sent",
];

testFormatOne.each(["2", "1"])(
  "a migration to format %s that is killed at any call to Redis continues when it is run again, and loses no events",
  async (to) => {
    const NODE_OPTIONS = `--require ${join(__dirname, "../harness/kill-at-call-preload.js")}`;
    const codes: (number | null)[] = [];
    for (const kill of KILLS) {
      await redis.command("", ["FLUSHALL"]);
      const filled = await fill(old);
      const count = filled.reduce((sum, { events }) => sum + events.length, 0);
      if (to === "1") await migrate();
      const killed = await migrate(["--to", to], { NODE_OPTIONS, KILL_AT: kill });
      codes.push(killed.code);
      // The lock of a killed migration expires after some seconds; the test does not wait for this.
      await redis.command("", ["DEL", "cb:migration"]);
      const { code, stdout } = await migrate(["--to", to]);
      expect(code).toBe(0);
      const isDone = stdout.includes("nothing to migrate");
      if (!isDone && to === "2") expect(stdout).toContain(`held events converted: ${count}\n`);
      if (to === "2") await expectServed(filled);
      await old.load();
      for (const { workspace, events } of to === "1" ? filled : []) {
        const page = await old.page(workspace, "oldest", 200);
        expect(`[${page.json}]`).toBe(`[${events.join(",")}]`);
      }
    }
    // A migration that ends before the call at which it should be killed exits with a code, so its code is not null.
    expect(codes.filter((code) => code === null).length).toBeGreaterThan(KILLS.length / 2);
  },
  600_000,
);

testFormatOne(
  "a migration that was interrupted must be completed before the data is migrated in the other direction",
  async () => {
    await redis.command("", ["SET", "cb:shards", "16 format=2 migrating=1"]);
    const { code, stderr } = await migrate();
    expect(code).toBe(78);
    expect(stderr).toContain("complete it first, with migrate --to 1");
    expect((await migrate(["--to", "1"])).code).toBe(0);
    expect(await readMark()).toBe("16");
  },
);

testFormatOne(
  "migrate exits with an error while a core runs, and the core continues; after the core crashes, migrate waits until its leases expire",
  async () => {
    const core = await startCore(server.url);
    const refused = await migrate(["--to", "1"]);
    expect(refused.code).toBe(75);
    expect(refused.stderr).toMatch(
      /^cannot migrate: 1 core uses this Redis \(last sign of life .* ago\), .*stop all cores/,
    );
    expect(await readMark()).toBe(MARK);
    await core.stop("SIGKILL");
    expect((await migrate(["--to", "1"])).code).toBe(0);
    expect(await readMark()).toBe("16");
  },
);

testFormatOne(
  "if a core starts during a migration, migrate detects the core and converts nothing",
  async () => {
    const filled = await fill(old);
    const running = migrate();
    await until("the migration has begun", async () => (await readMark()) !== "16");
    // Simulates a core of release 1.0.0-beta.1 that read the store's format before the migration began.
    await old.call("join_group", old.keys.prefixOf("!cores"), ["!cores", "late", "token", "1", "0", "3000"]);
    const { code, stderr } = await running;
    expect(code).toBe(75);
    expect(stderr).toContain("stop all cores");
    expect(await readMark()).toBe("16");
    await old.load();
    const page = await old.page(filled[1]?.workspace ?? { id: "" }, "oldest", 100);
    expect(page.json).toBe(filled[1]?.events.join(","));
  },
);

testFormatOne("only one migration runs at a time", async () => {
  await fill(old);
  const results = await Promise.all([migrate(), migrate()]);
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  expect(results.filter(({ stdout }) => stdout.includes("nothing to migrate"))).toHaveLength(1);
  await redis.command("", ["SET", "cb:migration", "other", "PX", "600000"]);
  const { code, stderr } = await migrate(["--to", "1"]);
  expect(code).toBe(75);
  expect(stderr).toContain("another process migrates this Redis");
});

testFormatOne(
  "migrate does nothing on a new Redis; if arguments, settings or data are invalid, its error says what to do",
  async () => {
    expect(await migrate()).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("nothing to migrate") as string,
    });
    expect(await migrate(["--to", "3"])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("--to must be one of: 1, 2") as string,
    });
    expect((await migrate(["--what"])).code).toBe(64);
    expect(await migrate(["--help"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("--dry-run") as string,
    });
    expect(await runProgram("core", {}, ["migrate"])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("REDIS_URL") as string,
    });
    await old.mark();
    expect(await migrate([], { SHARDS: "8" })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("set SHARDS=16") as string,
    });
    await redis.command("", ["SET", "cb:shards", "16 format=3 since=1.4.0"]);
    expect(await migrate()).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("format 3, of release 1.4.0 or newer") as string,
    });
  },
);

testFormatOne(
  "migrate --check says whether cores of this release can start, and changes nothing",
  async () => {
    await old.mark();
    expect(await migrate(["--check"])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("format 1") as string,
    });
    expect(await readMark()).toBe("16");
    await migrate();
    expect(await migrate(["--check"])).toMatchObject({ code: 0, stderr: "" });
  },
);

testFormatOne(
  "data that an earlier build stored in format 2, but did not mark as format 2, is migrated without a loss",
  async () => {
    const store = await openTestStore(server.url);
    await store.close();
    await redis.command("", ["SET", "cb:shards", "16"]);
    const { code, stdout } = await migrate();
    expect(code).toBe(0);
    expect(stdout).toContain("held events converted: 0\n");
    expect(await readMark()).toBe(`${MARK} unserved=0`);
  },
);

testFormatOne.each([
  ["a cluster", startTestCluster],
  ["Sentinel", startTestSentinel],
])("with %s, migrate converts the data in both directions", async (_kind, start) => {
  const service = await start();
  const store = await openFormatOne(service.url);
  try {
    const filled = await fill(store);
    expect(await migrate([], {}, service.url)).toMatchObject({ code: 0, stderr: "" });
    await expectServed(filled, service.url);
    expect(await migrate(["--to", "1"], {}, service.url)).toMatchObject({ code: 0, stderr: "" });
    const keys = await store.redis.everywhere(["KEYS", "*:held:*"]);
    expect(keys.flatMap(({ reply }) => reply)).toEqual([]);
    await store.load();
    for (const { workspace, events } of filled) {
      expect((await store.page(workspace, "oldest", 200)).json).toBe(events.join(","));
    }
  } finally {
    await store.close();
    await service.close();
  }
});
