import { FORMAT, parseMark } from "../domain/store-format";
import type { Installation, MasterInfo, MasterSettings } from "../ports/installation";
import { LEASE_MS } from "../ports/leases";
import { StoreUnavailable } from "../ports/store-faults";
import { SHARDS_KEY, type Keys } from "./keys";
import { fieldOf, toMemory } from "./memory";
import { errorReply, type ServerReply } from "./redis/connection";
import type { Redis, Reply } from "./redis/redis";
import { asList, asText } from "./redis/reply";

/** The Redis settings that CONFIG GET reads. */
const SETTINGS = ["appendonly", "appendfsync", "save", "maxmemory-policy"] as const;
/** Matches a replica in the reply to INFO that receives each write. */
const ONLINE = /^slave\d+:.*\bstate=online\b/gm;

/**
 * Reads what the store knows about the installation.
 *
 * @param assumedBytes the memory of a master without `maxmemory`; 0 for no limit
 */
export function createInstallation(
  redis: Redis,
  keys: Keys,
  now: () => number,
  assumedBytes: number,
): Installation {
  async function readMasters() {
    const [infos, settings] = await Promise.all([
      unlessRefused(() => redis.everywhere(["INFO"])),
      unlessRefused(() => redis.everywhere(["CONFIG", "GET", ...SETTINGS])),
    ]);
    const servers = infos ?? settings ?? [];
    return servers.map(({ server }) => ({
      server,
      info: replyOf(infos, server, (reply) => toInfo(asText(reply), assumedBytes)),
      settings: replyOf(settings, server, toSettings),
    }));
  }

  /**
   * Returns the number of live members of a group, and the number of shards on which no live member holds the lease.
   */
  async function readLeases(group: string) {
    const prefix = keys.prefixOf(group);
    const members = `${prefix}:members:${group}`;
    const [found, ...holders] = await Promise.all([
      redis.command(members, ["HGETALL", members]),
      ...keys.prefixes.map((shard) => readText(redis, `${shard}:lease:${group}`)),
    ]);
    const live = liveTokens(asList(found).map(asText), now());
    const isHeld = (holder: string | undefined): boolean => holder !== undefined && live.has(holder);
    return { cores: live.size, freeShards: holders.filter((holder) => !isHeld(holder)).length };
  }

  return {
    async read(group) {
      const [leases, masters, mark = ""] = await Promise.all([
        readLeases(group),
        readMasters(),
        readText(redis, SHARDS_KEY),
      ]);
      return {
        ...leases,
        masters,
        shards: keys.shards,
        storeFormat: FORMAT,
        storedFormat: parseMark(mark)?.format ?? 0,
      };
    },
  };
}

async function readText(redis: Redis, key: string): Promise<string | undefined> {
  const reply = await redis.command(key, ["GET", key]);
  return reply === null ? undefined : asText(reply);
}

/**
 * Returns the replies to a command; undefined when the Redis user lacks the permission for the command, or the Redis
 * service does not support it.
 */
async function unlessRefused(ask: () => Promise<readonly ServerReply[]>) {
  try {
    return await ask();
  } catch (error) {
    const reply = errorReply(error);
    const isRefused = reply?.startsWith("NOPERM") || (reply && !(error instanceof StoreUnavailable));
    if (isRefused) return undefined;
    throw error;
  }
}

function replyOf<T>(
  replies: readonly ServerReply[] | undefined,
  server: string,
  read: (reply: Reply) => T,
): T | undefined {
  const found = replies?.find((each) => each.server === server);
  return found === undefined ? undefined : read(found.reply);
}

/** Returns the tokens of the members that have reported within `LEASE_MS`: see functions/leases.lua. */
function liveTokens(fields: readonly string[], nowMs: number): ReadonlySet<string> {
  const marks = fields.filter((_, at) => at % 2 === 1);
  const live = marks.filter((mark) => Math.abs(nowMs - Number(/\d+$/.exec(mark)?.[0])) <= LEASE_MS);
  return new Set(live.map((mark) => mark.replace(/(?::\d+)? .*$/, "")));
}

function toInfo(info: string, assumedBytes: number): MasterInfo {
  const text = (name: string): string => fieldOf(info, name) ?? "";
  const { usedBytes, maxBytes } = toMemory(info);
  const hasFile = text("aof_enabled") === "1";
  return {
    version: text("valkey_version") || text("redis_version"),
    usedBytes,
    maxBytes: maxBytes ?? (assumedBytes || undefined),
    isMaxAssumed: maxBytes === undefined && assumedBytes > 0,
    fileWrite: hasFile ? text("aof_last_write_status") : undefined,
    fileRewrite: hasFile ? text("aof_last_bgrewrite_status") : undefined,
    fileBytes: hasFile ? Number(text("aof_current_size")) || undefined : undefined,
    snapshot: text("rdb_last_bgsave_status"),
    replicas: (info.match(ONLINE) ?? []).length,
  };
}

function toSettings(reply: Reply): MasterSettings {
  const texts = asList(reply).map(asText);
  const value = (name: (typeof SETTINGS)[number]): string => texts[texts.indexOf(name) + 1] ?? "";
  return {
    appendOnly: value("appendonly"),
    appendFsync: value("appendfsync"),
    save: value("save"),
    maxmemoryPolicy: value("maxmemory-policy"),
  };
}
