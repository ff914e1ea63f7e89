import { join } from "node:path";
import { runCli, startCliProcess } from "../harness/cli";
import { connectRedis, type Redis } from "../../core/store/redis/redis";
import { dashboardUrlOf } from "../harness/dashboard";
import { examine, HEALTHY_CORE, HEALTHY_REDIS, STRONG_TOKENS } from "../harness/doctor";
import { readMetrics } from "../harness/metrics";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { startService, type TestService } from "../harness/service";
import { startSilentServer } from "../harness/silent-server";
import { until } from "../harness/wait";

const BACKUP_KEY = "cb:backup";
const SECRETS_METRIC = "chatbridge_core_unreadable_secrets";

let service: TestService;
let redis: Redis;
let core: string;

const redisCommand = (...args: readonly string[]) => redis.command("", args);
const configure = (setting: string, value: string) => redisCommand("CONFIG", "SET", setting, value);
const secondsAgo = (seconds: number) => String(Math.floor(Date.now() / 1_000) - seconds);

beforeAll(async () => {
  service = await startService({
    core: HEALTHY_CORE,
    edge: { CORE_TOKEN: STRONG_TOKENS.edge, DASHBOARD_LISTEN: "127.0.0.1:0" },
    // A test changes the name of the snapshot's file, which is a protected setting of Redis.
    redis: [...HEALTHY_REDIS, "--enable-protected-configs", "yes"],
  });
  core = `127.0.0.1:${service.core.port}`;
  redis = await connectRedis({ url: service.redis.url, onError: () => undefined });
  await redisCommand("SET", BACKUP_KEY, secondsAgo(60));
  // Core counts the secrets shortly after its start, and the doctor skips a check whose figure is not known yet.
  const hasCounted = async () => (await readMetrics(service.core)).get(SECRETS_METRIC)?.values.size === 1;
  await until("core has counted the unreadable secrets", hasCounted);
});
afterAll(async () => {
  await redis.close();
  await service.close();
});

/** Starts a further core, calls `use` with its address, and stops the core. */
async function withCore<T>(
  environment: Readonly<Record<string, string>>,
  use: (at: string, further: TestProcess) => Promise<T>,
): Promise<T> {
  const further = await startCore(service.redis.url, { ...HEALTHY_CORE, ...environment });
  try {
    return await use(`127.0.0.1:${further.port}`, further);
  } finally {
    await further.stop();
  }
}

test("the doctor finds no fault in a healthy installation", async () => {
  const urls = ["--url", service.url, "--dashboard", dashboardUrlOf(service.edge)];
  const { faults, findings } = await examine(core, urls);
  expect(faults).toEqual([]);
  const skipped = findings.filter(({ result }) => result === "skipped").map(({ check }) => check);
  // Nothing in this installation uses TLS, or runs on another machine.
  expect(skipped).toEqual([
    "core-certificate",
    "edge-certificate",
    "edge-http",
    "edge-address",
    "dashboard-certificate",
    "dashboard-cookie",
  ]);
});

test("the doctor prints one line for each check, and a summary", async () => {
  const environment = { CORE_TOKEN: STRONG_TOKENS.operator, CORE_ADDRESS: core, PUBLIC_URL: service.url };
  const { code, stdout, stderr } = await startCliProcess("doctor", { role: "nobody", environment }).ended;
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^RESULT +CHECK +FINDING$/);
  expect(lines).toContainEqual(expect.stringMatching(/^ok +redis-durability +/));
  expect(lines).toContainEqual(expect.stringMatching(/^ok +edge +an edge answers at http:/));
  expect(lines).toContainEqual(
    expect.stringMatching(/^skipped +dashboard +the address is unknown: give --dashboard or DASHBOARD_URL$/),
  );
  expect(lines.at(-1)).toMatch(/^\d+ checks: \d+ ok, \d+ skipped$/);
});

describe("Redis", () => {
  /** Calls `plant` to cause a fault, returns what the doctor finds, and calls `undo` to remove the fault. */
  async function afterPlanting(plant: () => Promise<unknown>, undo: () => Promise<unknown>) {
    await plant();
    try {
      return await examine(core);
    } finally {
      await undo();
    }
  }

  test.each([
    ["appendfsync", "everysec", "always", "warn redis-durability", /a crash .* about a second/],
    ["appendfsync", "no", "always", "fail redis-durability", /a crash .* half a minute/],
    ["maxmemory-policy", "allkeys-lru", "noeviction", "fail redis-eviction", /deletes events/],
    ["maxmemory", "0", "256mb", "warn redis-memory", /no limit of memory/],
  ])("the doctor reports the setting %s %s as a fault", async (setting, value, before, name, words) => {
    const { names, faults } = await afterPlanting(
      () => configure(setting, value),
      () => configure(setting, before),
    );
    expect(names).toEqual([name]);
    expect(faults[0]?.says).toMatch(words);
  });

  test("the doctor reports a Redis without an append-only file", async () => {
    const { names, of } = await afterPlanting(
      () => configure("appendonly", "no"),
      async () => {
        await configure("appendonly", "yes");
        await until("Redis has written its append-only file", async () =>
          /aof_rewrite_in_progress:0[^]*aof_rewrite_scheduled:0/.test(
            String(await redisCommand("INFO", "persistence")),
          ),
        );
      },
    );
    expect(names).toEqual(["fail redis-durability"]);
    expect(of("redis-durability")?.says).toMatch(/a restart of Redis loses all data/);
  });

  test.each([
    [0.87, "warn redis-memory", 8],
    [0.98, "fail redis-memory", 9],
  ])("the doctor reports memory of which the fraction %d is used", async (part, name, tens) => {
    const info = String(await redisCommand("INFO", "memory"));
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
    const notCounted = Number(/^mem_not_counted_for_evict:(\d+)/m.exec(info)?.[1]);
    const { names, of } = await afterPlanting(
      () => configure("maxmemory", String(Math.round((used - notCounted) / part))),
      () => configure("maxmemory", "256mb"),
    );
    expect(names).toEqual([name]);
    expect(of("redis-memory")?.says).toMatch(new RegExp(`uses ${tens}\\d percent`));
  });

  test("the doctor reports a failed snapshot", async () => {
    const folder = service.redis.folder;
    const saved = async (result: string) =>
      String(await redisCommand("INFO", "persistence")).includes(`rdb_last_bgsave_status:${result}`);
    const { names, of } = await afterPlanting(
      async () => {
        // The snapshot fails, because Redis cannot replace a folder with a file.
        await configure("dbfilename", "appendonlydir");
        await redisCommand("BGSAVE");
        await until(`the snapshot in ${folder} has failed`, () => saved("err"));
      },
      async () => {
        await configure("dbfilename", "dump.rdb");
        await redisCommand("BGSAVE");
        await until("the snapshot has succeeded", () => saved("ok"));
      },
    );
    expect(names).toEqual(["warn redis-disk"]);
    expect(of("redis-disk")?.says).toMatch(/could not write a snapshot/);
  });

  test("checks that need more permissions than core's Redis user has are skipped, with the reason", async () => {
    const { faults, of } = await afterPlanting(
      () => redisCommand("ACL", "SETUSER", "default", "-config"),
      () => redisCommand("ACL", "SETUSER", "default", "+config"),
    );
    expect(faults).toEqual([]);
    for (const check of ["redis-durability", "redis-eviction"]) {
      expect(of(check)).toEqual({
        check,
        result: "skipped",
        says: expect.stringMatching(/CONFIG GET.*allow/) as string,
      });
    }
  });

  test("the doctor reports missing replicas", async () => {
    const { names } = await withCore({ REDIS_WAIT_REPLICAS: "1" }, (at) => examine(at));
    expect(names).toEqual(["fail redis-replicas"]);
  });

  test.each([
    ["never made", undefined, /no backup .* known/],
    ["older than two intervals", 49 * 3_600, /49 hours old/],
  ])("the doctor reports a backup that was %s", async (_what, age, words) => {
    const { names, of } = await afterPlanting(
      () =>
        age === undefined
          ? redisCommand("DEL", BACKUP_KEY)
          : redisCommand("SET", BACKUP_KEY, secondsAgo(age)),
      () => redisCommand("SET", BACKUP_KEY, secondsAgo(60)),
    );
    expect(names).toEqual(["warn backup"]);
    expect(of("backup")?.says).toMatch(words);
  });

  test("the doctor reports a failed backup that is newer than the last complete one", async () => {
    const { names, of } = await afterPlanting(
      () => redisCommand("SET", "cb:backupfailed", secondsAgo(10)),
      () => redisCommand("DEL", "cb:backupfailed"),
    );
    expect(names).toEqual(["fail backup"]);
    expect(of("backup")?.says).toMatch(/the last backup failed at /);
  });

  test("the doctor reports shards that no core holds", async () => {
    const lease = "cb:{s3}:lease:!cores";
    const { names, of } = await afterPlanting(
      () => redisCommand("SET", lease, "nobody"),
      () => redisCommand("DEL", lease),
    );
    expect(names).toEqual(["fail shards"]);
    expect(of("shards")?.says).toMatch(/^1 of 16 shards/);
    await until(
      "core holds the shard again",
      async () => (await examine(core)).of("shards")?.result === "ok",
    );
  });
});

describe("core", () => {
  test.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
    ["0.0.0.0/0 in PUSH_ALLOW", { PUSH_ALLOW: "10.1.0.0/16,0.0.0.0/0" }, "warn push-allow", /0\.0\.0\.0\/0/],
    [
      "a listener for all machines without TLS",
      { CORE_LISTEN: "0.0.0.0:0" },
      "warn core-encryption",
      /without TLS/,
    ],
    ["no mail server", { SMTP_URL: "", MAIL_FROM: "" }, "warn mail", /only logs its emails/],
    [
      "a token that is easy to guess",
      { CORE_TOKENS: `${HEALTHY_CORE.CORE_TOKENS},game:chess=0123456789abcdef0123` },
      "warn tokens",
      /game:chess has only 20 characters/,
    ],
  ])("the doctor reports this fault: %s", async (_what, environment, name, words) => {
    const { names, faults } = await withCore(environment, (at) => examine(at));
    expect(names).toEqual([name]);
    expect(faults[0]?.says).toMatch(words);
    expect(JSON.stringify(faults)).not.toContain("0123456789abcdef");
  });

  test("the doctor reports secrets that core cannot decrypt", async () => {
    const environment = { CORE_TOKEN: STRONG_TOKENS.operator };
    const made = await runCli(["workspace", "create", "Ann", "--show-secret"], {
      role: "nobody",
      corePort: service.core.port,
      environment,
    });
    expect(made.code).toBe(0);
    const { names, of } = await withCore({ SECRETS_KEY: "ab".repeat(32) }, async (at) => {
      return until("core has counted the workspaces", async () => {
        const found = await examine(at);
        return found.of("secrets")?.result === "skipped" ? undefined : found;
      });
    });
    expect(names).toEqual(["fail secrets"]);
    expect(of("secrets")?.says).toMatch(/cannot decrypt the secrets of \d+ workspace/);
  });

  test("the doctor reports a clock that is ahead", async () => {
    const environment = {
      NODE_OPTIONS: `--require ${join(__dirname, "../harness/clock-ahead.js")}`,
      CLOCK_STEP_MS: "120000",
    };
    const { names, of } = await withCore(environment, async (at, { child, log }) => {
      child.kill("SIGUSR2");
      await until("the clock is ahead", () => log.some(({ msg }) => msg === "the clocks are ahead"));
      return until("core follows the clock of Redis again", async () => {
        const found = await examine(at);
        return found.of("redis-clock")?.result === "fail" ? found : undefined;
      });
    });
    expect(names).toEqual(["fail core-clock", "fail redis-clock"]);
    expect(of("core-clock")?.says).toMatch(/is 1[12]\d seconds ahead of/);
    expect(of("redis-clock")?.says).toMatch(/clock of Redis is 1[12]\d seconds behind/);
  });

  test("the doctor asks each core, and reports a fault if the cores have different releases", async () => {
    const environment = {
      NODE_OPTIONS: `--require ${join(__dirname, "../harness/other-build.js")}`,
      OTHER_BUILD: JSON.stringify({ version: "0.9.9", commit: "0123456789ab" }),
    };
    const { names, of } = await withCore(environment, (at) => examine(`ipv4:${core},${at}`));
    expect(names).toEqual(["warn versions"]);
    expect(of("versions")?.says).toMatch(/0\.9\.9/);
    expect(of("cores")).toMatchObject({ result: "ok", says: "2 cores share the shards" });
  });

  test("the doctor reports a core that does not listen, and still checks the other cores", async () => {
    const closed = `127.0.0.1:${await freePort()}`;
    const { names, of } = await examine(`ipv4:${core},${closed}`);
    expect(names).toEqual(["fail core"]);
    expect(of("core")?.says).toMatch(new RegExp(`core at ${closed} does not answer: .*ECONNREFUSED`));
    expect(of("redis-durability")).toMatchObject({ result: "ok" });
  });

  test("if another core is running that the doctor did not ask, the doctor says so", async () => {
    const { faults, of } = await withCore({}, () => examine(core));
    expect(faults).toEqual([]);
    expect(of("cores")).toMatchObject({
      result: "skipped",
      says: expect.stringMatching(/^1 core of 2 answered here.*dns:\/\/\//) as string,
    });
  });

  test("a server that never answers does not stop the other checks", async () => {
    const silent = await startSilentServer();
    try {
      const { names, of } = await examine(`127.0.0.1:${silent.port}`, ["--url", service.url]);
      expect(names).toEqual(["fail core"]);
      expect(of("other-checks")).toMatchObject({ result: "skipped" });
      expect(of("edge")).toMatchObject({ result: "ok" });
    } finally {
      silent.close();
    }
  });

  test.each([
    ["unknown to core", "0123456789abcdef", /rejects the token/],
    ["of a game", STRONG_TOKENS.game, /only the role operator/],
  ])("the doctor reports a token that is %s", async (_what, token, words) => {
    const { names, of } = await examine(core, [], { CORE_TOKEN: token });
    expect(names).toEqual(["fail core-token"]);
    expect(of("core-token")?.says).toMatch(words);
  });

  test("the doctor reports its own token if it is limited to some workspaces", async () => {
    const limited = "feedfacedeadbeeffeedfacedeadbeef";
    const CORE_TOKENS = `${HEALTHY_CORE.CORE_TOKENS},operator:ann@00000000-0000-4000-8000-000000000000=${limited}`;
    const { names, of } = await withCore({ CORE_TOKENS }, (at) => examine(at, [], { CORE_TOKEN: limited }));
    expect(names).toEqual(["fail core-token"]);
    expect(of("core-token")?.says).toMatch(/ann is limited to some workspaces/);
  });
});
