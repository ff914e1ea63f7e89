import { packArguments } from "../../core/store/functions";
import { asList, asText } from "../../core/store/redis/reply";
import { prefixOf, type TestStore } from "./store";

/** The function of the library that returns a limiter. */
const LIMITER_OF = "local function limiter_of(key, now)\n";
const LOOKED_UP = `${LIMITER_OF}  if fixed[key] then return fixed[key] end\n`;
/**
 * Adds functions that fix a limiter and count its requests. In a fixed limiter, all requests except the last one are
 * dated an hour ahead, so that they still count when the test ends.
 */
const FIXED = `local fixed = {}
register('fix_limiter', function(keys, args)
  local key, count = args[1], tonumber(args[2])
  fixed[key] = count > 0 and { count = count } or nil
  for i = 1, count do fixed[key][i] = clock() + (i < count and 3600 * MICROSECONDS or 0) end
end)
register('count_limiter', function(keys, args) return fixed[args[1]].count end)
`;

/** The limiters of addresses and workspaces, which Redis's functions keep in memory. */
export type Limiters = Awaited<ReturnType<typeof fixLimiters>>;

/** Changes the libraries in a store's Redis, so that tests can fill limits. Afterwards, all limiters are empty. */
export async function fixLimiters(store: TestStore) {
  const versions: string[] = [];
  for (const library of asList(await store.redis.command("", ["FUNCTION", "LIST", "WITHCODE"]))) {
    const code = asText(asList(library).at(-1) ?? null);
    const version = /^#!lua name=chatbridge_(\w+)/.exec(code)?.[1];
    // The library of a migration has no limiters.
    if (version === undefined || !code.includes(LIMITER_OF)) continue;
    const changed = code.includes(LOOKED_UP) ? code : code.replace(LIMITER_OF, FIXED + LOOKED_UP);
    await store.redis.command("", ["FUNCTION", "LOAD", "REPLACE", changed]);
    versions.push(version);
  }

  async function call(name: string, id: string, args: readonly string[]): Promise<number> {
    const prefix = prefixOf(store, id);
    let sum = 0;
    for (const version of versions) {
      const command = ["FCALL", `${name}_${version}`, "1", prefix, packArguments(args)];
      sum += Number((await store.redis.command(prefix, command)) ?? 0);
    }
    return sum;
  }

  const keyOf = { address: "ip", workspace: "rate" } as const;
  return {
    /** Fills a limit with `count` requests; 0 empties the limit. */
    fill: (kind: keyof typeof keyOf, id: string, count: number) =>
      call("fix_limiter", id, [`${prefixOf(store, id)}:${keyOf[kind]}:${id}`, String(count)]),
    /**
     * Returns the number of requests that a limiter has counted since `fill`, including the requests that `fill` added.
     */
    countOf: (kind: keyof typeof keyOf, id: string) =>
      call("count_limiter", id, [`${prefixOf(store, id)}:${keyOf[kind]}:${id}`]),
  };
}
