import type { Redis, Reply } from "./redis";
import { asList, asText } from "./reply";

/** A setting of a Redis server that may lose data. */
export interface RedisAdvice {
  readonly level: "warn" | "info";
  readonly server: string;
  readonly advice: string;
}

type Settings = ReadonlyMap<string, string>;

const CHECKS: readonly ((settings: Settings) => Omit<RedisAdvice, "server"> | undefined)[] = [
  (settings) => {
    const policy = settings.get("maxmemory-policy");
    if (policy === "noeviction") return undefined;
    const advice = `maxmemory-policy is ${policy}: Redis DELETES EVENTS AND WORKSPACES when memory is full; set noeviction`;
    return { level: "warn", advice };
  },
  (settings) =>
    settings.get("appendonly") === "yes"
      ? undefined
      : {
          level: "warn",
          advice: "appendonly is no: A RESTART LOSES THE DATA SINCE THE LAST SNAPSHOT, OR ALL OF IT; set yes",
        },
  (settings) => {
    const fsync = settings.get("appendfsync");
    if (fsync === "always" || settings.get("appendonly") !== "yes") return undefined;
    const lost = fsync === "everysec" ? "about a second" : "half a minute or more";
    const advice = `appendfsync is ${fsync}: a machine crash loses ${lost} of confirmed writes; set always to lose none`;
    return { level: fsync === "everysec" ? "info" : "warn", advice };
  },
];

/** Returns the settings of each master that may lose data. If CONFIG GET fails, returns a single advice about that. */
export async function findAdvice(redis: Redis): Promise<readonly RedisAdvice[]> {
  try {
    const replies = await redis.everywhere([
      "CONFIG",
      "GET",
      "maxmemory-policy",
      "appendonly",
      "appendfsync",
    ]);
    return replies.flatMap(({ server, reply }) => {
      const settings = toSettings(reply);
      return CHECKS.flatMap((check) => check(settings) ?? []).map((found) => ({ ...found, server }));
    });
  } catch {
    // Managed Redis services, and users with few permissions, do not allow CONFIG.
    const advice =
      "cannot check the settings: CONFIG GET failed; set maxmemory-policy noeviction, appendonly yes and appendfsync always";
    return [{ level: "info", server: "all", advice }];
  }
}

function toSettings(reply: Reply): Settings {
  const texts = asList(reply).map(asText);
  return new Map(texts.flatMap((name, i) => (i % 2 === 0 ? [[name, texts[i + 1] ?? ""]] : [])));
}
