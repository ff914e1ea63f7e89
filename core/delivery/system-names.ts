import { Resolver } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { TooManyLookups, type NameLookup } from "../ports/outside";
import { createHostsFile } from "./hosts-file";

const TRY_WITHIN_MS = 1_200;
const TRIES = 2;
/** Maximum milliseconds that a lookup can take. This maximum is less than the deadline of a push. */
const LOOK_UP_WITHIN_MS = 4_000;
/**
 * Milliseconds to wait for the other address family (IPv4 or IPv6) after the addresses of one family have arrived.
 * Some name servers never answer IPv6 queries.
 */
const OTHER_FAMILY_WITHIN_MS = 500;
/** Maximum number of names that are looked up at the same time. */
const LOOKUPS_MAX = 1_000;

export interface NameLookupOptions {
  /** Name servers as `address:port`; empty to use the hosts file and the system's name servers. */
  readonly servers: readonly string[];
  /** Set only by tests. The default is the system's hosts file if `servers` is empty. */
  readonly hosts?: Pick<ReturnType<typeof createHostsFile>, "addresses">;
  readonly max?: number;
}

/**
 * Looks up the names of third-party hosts: first in the hosts file, then in DNS. Core never uses the system's function
 * `getaddrinfo` for these names. That function has no deadline, and shares a few threads among all lookups of the
 * process. So slow name servers of one bridge would delay core's own lookups, e.g. of the Redis host.
 *
 * All lookups of a name that happen at the same time share two queries (coalescing). So one bridge occupies at most one
 * of the `LOOKUPS_MAX` places, however many events are pushed to the bridge. DNS answers are not cached.
 */
export function createNameLookup({
  servers,
  hosts = servers.length === 0 ? createHostsFile() : undefined,
  max = LOOKUPS_MAX,
}: NameLookupOptions): NameLookup {
  const resolver = new Resolver({ timeout: TRY_WITHIN_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  const inProgress = new Map<string, Promise<readonly string[]>>();

  function query(name: string): Promise<readonly string[]> {
    const answers = [resolver.resolve4(name), resolver.resolve6(name)];
    const found = collect(answers);
    inProgress.set(name, found);
    // The name keeps its place until both queries have ended, because a pending query uses memory.
    void Promise.allSettled(answers).then(() => inProgress.delete(name));
    return found;
  }

  return {
    async addresses(name) {
      const listed = hosts?.addresses(name) ?? [];
      if (listed.length > 0) return listed;
      const pending = inProgress.get(name);
      if (pending === undefined && inProgress.size >= max) throw new TooManyLookups();
      return withDeadline(pending ?? query(name));
    },
  };
}

/**
 * Resolves with the addresses of both families, or of one family if the other answer is late. Rejects with a DNS error
 * when there is no address.
 */
async function collect(answers: readonly Promise<readonly string[]>[]): Promise<readonly string[]> {
  const found: string[] = [];
  const settled = answers.map((answer) => answer.then((addresses) => void found.push(...addresses)));
  const all = Promise.allSettled(settled);
  const over = new AbortController();
  // Rejects with an AggregateError when both queries have failed.
  await Promise.any(settled);
  await Promise.race([
    all,
    sleep(OTHER_FAMILY_WITHIN_MS, undefined, { signal: over.signal }).catch(() => {}),
  ]);
  over.abort();
  return [...found];
}

async function withDeadline<T>(pending: Promise<T>): Promise<T> {
  const over = new AbortController();
  try {
    const late = sleep(LOOK_UP_WITHIN_MS, undefined, { signal: over.signal }).then(() => {
      throw new Error("no answer in time");
    });
    late.catch(() => {});
    return await Promise.race([pending, late]);
  } finally {
    over.abort();
  }
}
