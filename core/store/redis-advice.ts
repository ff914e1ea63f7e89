import type { Redis, Reply } from "./redis";
import { asList, asText } from "./reply";

/** Something about a server that may lose what it holds. */
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
    const advice = `maxmemory-policy is ${policy}: when memory is short it DELETES EVENTS AND WORKSPACES; set noeviction`;
    return { level: "warn", advice };
  },
  (settings) =>
    settings.get("appendonly") === "yes"
      ? undefined
      : {
          level: "warn",
          advice: "appendonly is no: A RESTART LOSES WHAT CAME SINCE ITS LAST SNAPSHOT, OR ALL; set yes",
        },
  (settings) => {
    const fsync = settings.get("appendfsync");
    if (fsync === "always" || settings.get("appendonly") !== "yes") return undefined;
    const lost = fsync === "everysec" ? "about a second" : "half a minute or more";
    const advice = `appendfsync is ${fsync}: a crash of the machine loses ${lost} of what was answered; always loses nothing`;
    return { level: fsync === "everysec" ? "info" : "warn", advice };
  },
];

/** What would lose data, master by master. A server that does not tell is said to be unchecked. */
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
    // Services that run Redis for others, and narrow users, do not let CONFIG through.
    const advice =
      "could not be checked, as CONFIG GET is refused: see to maxmemory-policy noeviction, appendonly yes and appendfsync always";
    return [{ level: "info", server: "all", advice }];
  }
}

function toSettings(reply: Reply): Settings {
  const texts = asList(reply).map(asText);
  return new Map(texts.flatMap((name, i) => (i % 2 === 0 ? [[name, texts[i + 1] ?? ""]] : [])));
}
