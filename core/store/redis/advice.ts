import type { Redis, Reply } from "./redis";
import { asList, asText } from "./reply";

/** Advice about a Redis setting that can cause data loss. */
export interface RedisAdvice {
  readonly level: "warn" | "info";
  readonly server: string;
  readonly advice: string;
}

type Advice = Omit<RedisAdvice, "server">;

function check(settings: ReadonlyMap<string, string>): readonly Advice[] {
  const found: Advice[] = [];
  const policy = settings.get("maxmemory-policy");
  if (policy !== "noeviction") {
    const advice = `maxmemory-policy is ${policy}: Redis DELETES EVENTS AND WORKSPACES when memory is full; set noeviction`;
    found.push({ level: "warn", advice });
  }
  const fsync = settings.get("appendfsync");
  if (settings.get("appendonly") !== "yes") {
    const advice =
      "appendonly is no: A RESTART LOSES THE DATA SINCE THE LAST SNAPSHOT, OR ALL OF IT; set yes";
    found.push({ level: "warn", advice });
  } else if (fsync !== "always") {
    const lost = fsync === "everysec" ? "about a second" : "half a minute or more";
    const advice = `appendfsync is ${fsync}: a machine crash loses ${lost} of confirmed writes; set always to lose none`;
    found.push({ level: fsync === "everysec" ? "info" : "warn", advice });
  }
  return found;
}

/**
 * Returns advice about the settings that can cause data loss, for each master. If CONFIG GET fails on any master,
 * returns a single item, which says that core could not check the settings.
 */
export async function findAdvice(redis: Redis): Promise<readonly RedisAdvice[]> {
  try {
    const replies = await redis.everywhere([
      "CONFIG",
      "GET",
      "maxmemory-policy",
      "appendonly",
      "appendfsync",
    ]);
    return replies.flatMap(({ server, reply }) =>
      check(toSettings(reply)).map((found) => ({ ...found, server })),
    );
  } catch {
    // Some managed Redis services do not allow CONFIG, and some Redis users have no permission for CONFIG.
    const advice =
      "cannot check the settings: CONFIG GET failed; set maxmemory-policy noeviction, appendonly yes and appendfsync always";
    return [{ level: "info", server: "all", advice }];
  }
}

function toSettings(reply: Reply): ReadonlyMap<string, string> {
  const texts = asList(reply).map(asText);
  return new Map(texts.flatMap((name, i) => (i % 2 === 0 ? [[name, texts[i + 1] ?? ""]] : [])));
}
