import type {
  GetInstallationResponse,
  RedisInfo,
  RedisMaster,
  RedisSettings,
} from "../../proto/gen/chatbridge/v1/installation";
import { fail, judged, levelOf, ok, skipped, warn, worstOf, type Finding } from "./finding";

// The checks of Redis. These checks judge what a core reported, and do no I/O.

const PAGE = "docs/redis.md";
/** Thresholds for the used fraction of the memory that Redis may use. */
const MEMORY = { warn: 0.8, fail: 0.95 } as const;
const MB = 1_048_576;

/** Judges all Redis masters. Each check returns one finding: the worst result of all masters. */
export function judgeRedis({ masters, waitReplicas }: GetInstallationResponse): readonly Finding[] {
  if (masters.length === 0) {
    const why = "the Redis user of core may run neither INFO nor CONFIG GET";
    return ["redis-durability", "redis-eviction", "redis-memory", "redis-disk"].map((check) =>
      skipped(check, why),
    );
  }
  const ofSettings = (check: string, judge: (server: string, settings: RedisSettings) => Finding): Finding =>
    worstOf(
      masters.map(({ server, settings }) =>
        settings === undefined
          ? skipped(check, `the user of core may not run CONFIG GET on ${server}; allow +config|get`)
          : judge(server, settings),
      ),
    );
  const ofInfo = (check: string, judge: (server: string, info: RedisInfo) => Finding): Finding =>
    worstOf(
      masters.map(({ server, info }) =>
        info === undefined
          ? skipped(check, `the user of core may not run INFO on ${server}; allow +info`)
          : judge(server, info),
      ),
    );
  return [
    judgeReleases(masters),
    ofSettings("redis-durability", judgeDurability),
    ofSettings("redis-eviction", judgeEviction),
    ofInfo("redis-memory", judgeMemory),
    ofInfo("redis-disk", judgeDisk),
    ofInfo("redis-replicas", (server, info) => judgeReplicas(server, info, waitReplicas)),
  ];
}

function judgeReleases(masters: readonly RedisMaster[]): Finding {
  const versions = new Set(masters.flatMap(({ info }) => info?.version ?? []));
  if (versions.size === 0) return skipped("redis-version", "the user of core may not run INFO; allow +info");
  const names = [...versions].join(" and ");
  return judged("redis-version", versions.size > 1 ? "warn" : "ok", `the Redis masters run ${names}`, {
    fix: "run the same release on all of them",
    page: `${PAGE}#tested-servers`,
  });
}

function judgeDurability(server: string, { appendOnly, appendFsync, save }: RedisSettings): Finding {
  const check = "redis-durability";
  if (appendOnly !== "yes") {
    const lost = save === "" ? "all data" : "the data since the last snapshot";
    return fail(check, `appendonly is ${appendOnly} on ${server}: a restart of Redis loses ${lost}`, {
      fix: "set appendonly yes (CONFIG SET, and in the file of settings)",
      page: PAGE,
    });
  }
  const level = { always: "ok", everysec: "warn" } as const;
  const lost = appendFsync === "everysec" ? "about a second" : "half a minute or more";
  const says =
    appendFsync === "always"
      ? `${server} confirms a write when it is on disk`
      : `appendfsync is ${appendFsync} on ${server}: a crash of the machine loses ${lost} of confirmed writes`;
  return judged(check, level[appendFsync as keyof typeof level] ?? "fail", says, {
    fix: "set appendfsync always, to lose none",
    page: PAGE,
  });
}

function judgeEviction(server: string, { maxmemoryPolicy: policy }: RedisSettings): Finding {
  if (policy === "noeviction") return ok("redis-eviction", `${server} never deletes data to free memory`);
  return fail(
    "redis-eviction",
    `maxmemory-policy is ${policy} on ${server}: Redis deletes events and workspaces when its memory is full`,
    {
      fix: "set maxmemory-policy noeviction",
      page: PAGE,
    },
  );
}

function judgeMemory(server: string, { usedBytes, maxBytes, maxIsAssumed }: RedisInfo): Finding {
  const used = `${Math.round(usedBytes / MB)}`;
  if (maxBytes === 0) {
    return warn(
      "redis-memory",
      `${server} has no limit of memory (it uses ${used} MB): the system can kill it when the memory of the machine is full`,
      {
        fix: "set maxmemory below the memory of the machine, or REDIS_MEMORY_BYTES of core if the service has a limit of its own",
        page: "docs/scaling.md#what-the-memory-of-redis-carries",
      },
    );
  }
  const part = usedBytes / maxBytes;
  const of = `${Math.round(maxBytes / MB)} MB${maxIsAssumed ? " (REDIS_MEMORY_BYTES)" : ""}`;
  const says = `${server} uses ${Math.floor(100 * part)} percent of its memory: ${used} of ${of}`;
  return judged("redis-memory", levelOf(part, MEMORY), says, {
    fix: "raise maxmemory, and check that bridges poll and games ack; a full Redis rejects events",
    page: "docs/scaling.md#what-the-memory-of-redis-carries",
  });
}

/** Judges whether Redis's last writes to disk succeeded. */
function judgeDisk(server: string, { fileWrite, fileRewrite, fileBytes, snapshot }: RedisInfo): Finding {
  const failed = [
    fileWrite === "err" ? "write its append-only file" : "",
    fileRewrite === "err" ? "rewrite its append-only file" : "",
    snapshot === "err" ? "write a snapshot" : "",
  ].filter((each) => each !== "");
  if (failed.length === 0) {
    const size = fileBytes === 0 ? "" : `, and its append-only file has ${Math.ceil(fileBytes / MB)} MB`;
    return ok("redis-disk", `the last writes of ${server} to disk succeeded${size}`);
  }
  const says = `${server} could not ${failed.join(", and could not ")}`;
  return judged("redis-disk", fileWrite === "err" ? "fail" : "warn", says, {
    fix: "free space on the disk of Redis, and look in its log",
    page: "docs/doctor.md#redis",
  });
}

function judgeReplicas(server: string, { replicas }: RedisInfo, needed: number): Finding {
  if (replicas >= needed) {
    return ok("redis-replicas", `${server} has ${replicas} replicas, and core waits for ${needed}`);
  }
  return fail(
    "redis-replicas",
    `${server} has ${replicas} replicas online, but core waits for ${needed}: events are refused`,
    {
      fix: "start the replicas, or lower REDIS_WAIT_REPLICAS",
      page: "docs/redis.md#what-replication-may-lose",
    },
  );
}
