import type { Redis, Reply } from "../redis/redis";
import { asList, asText } from "../redis/reply";

/** Matches the library names of all releases. Each name contains a hash of the library's source. */
const NAME_FORM = /^chatbridge_[0-9a-f]{12}$/;
const FUNCTION_FORM = /^[a-z0-9_]+$/;

/**
 * The error that each function of a stub returns. Cores of all releases treat an error that begins with this word as an
 * outage of Redis, so they answer that the request must be repeated.
 */
const ANSWER =
  "MASTERDOWN the data in this Redis was migrated: stop this core, and start a release of the new format";

/**
 * Replaces the libraries of all cores with stubs, whose functions only return an error. A core may have been paused since
 * before the migration, e.g. with its virtual machine, so that its leases have expired. When such a core continues, it
 * does not read the mark first. Without the stubs, such a core could write events in the old format, which no core
 * would serve. A core that starts loads its own library again, which replaces a stub of the same name.
 *
 * @param own the name of the library of the migration
 */
export async function stubLibraries(redis: Redis, own: string): Promise<void> {
  const listed = await redis.everywhere(["FUNCTION", "LIST", "LIBRARYNAME", "chatbridge_*"]);
  const libraries = new Map<string, readonly string[]>();
  for (const { reply } of listed) {
    for (const library of asList(reply)) {
      const fields = fieldsOf(library);
      const name = asText(fields.get("library_name") ?? "");
      const names = asList(fields.get("functions") ?? []).map((each) =>
        asText(fieldsOf(each).get("name") ?? ""),
      );
      if (name !== own && NAME_FORM.test(name)) libraries.set(name, names);
    }
  }
  for (const [name, names] of libraries) {
    await redis.everywhere(["FUNCTION", "LOAD", "REPLACE", stubOf(name, names)]);
  }
}

function stubOf(library: string, names: readonly string[]): string {
  const functions = names
    .filter((name) => FUNCTION_FORM.test(name))
    .map(
      (name) => `redis.register_function('${name}', function() return redis.error_reply('${ANSWER}') end)`,
    );
  return [`#!lua name=${library}`, ...functions].join("\n");
}

function fieldsOf(reply: Reply): ReadonlyMap<string, Reply> {
  const items = asList(reply);
  return new Map(
    items.flatMap((item, i) => (i % 2 === 0 ? [[asText(item), items[i + 1] ?? null] as const] : [])),
  );
}
