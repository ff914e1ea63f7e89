import { Resolver, lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { NameLookup } from "../ports/outside";

const TRY_WITHIN_MS = 1_200;
const TRIES = 2;
/** Maximum milliseconds that a DNS lookup can take. This maximum is less than the deadline of a push. */
const LOOK_UP_WITHIN_MS = 4_000;
/**
 * Milliseconds to wait for the other address family (IPv4 or IPv6) after the addresses of one family have arrived.
 * Some name servers never answer IPv6 queries.
 */
const OTHER_FAMILY_WITHIN_MS = 500;

/**
 * Looks names up in DNS directly, many at a time. The system's lookup has only a few threads, so the slow name
 * servers of one bridge would block the lookups of other bridges. The system's lookup is used only for names
 * that DNS does not have, e.g. names in the hosts file, and only if `servers` is empty.
 *
 * @param servers name servers as `address:port`; empty to use the system's name servers
 */
export function createNameLookup(servers: readonly string[]): NameLookup {
  const resolver = new Resolver({ timeout: TRY_WITHIN_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);

  return {
    async addresses(name) {
      const answers = [resolver.resolve4(name), resolver.resolve6(name)];
      const found: string[] = [];
      const faults: NodeJS.ErrnoException[] = [];
      const over = new AbortController();
      const wait = (ms: number): Promise<void> =>
        sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
      const settled = answers.map((answer) =>
        answer.then(
          (addresses) => void found.push(...addresses),
          (fault: NodeJS.ErrnoException) => void faults.push(fault),
        ),
      );
      const oneFamily = Promise.any(answers).then(
        () => wait(OTHER_FAMILY_WITHIN_MS),
        () => undefined,
      );
      await Promise.race([Promise.all(settled), oneFamily, wait(LOOK_UP_WITHIN_MS)]);
      over.abort();
      if (found.length > 0) return [...found];
      if (servers.length > 0 || faults.length < answers.length || !faults.every(hasNoSuchName)) {
        throw faults[0] ?? new Error("no answer in time");
      }
      return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);
    },
  };
}

function hasNoSuchName(fault: NodeJS.ErrnoException): boolean {
  return fault.code === "ENOTFOUND" || fault.code === "ENODATA";
}
