import { Resolver, lookup } from "node:dns/promises";
import type { NameLookup } from "../ports/name-lookup";

const TRY_WITHIN_MS = 1_500;
const TRIES = 2;

/**
 * Looks names up in DNS directly, many at a time: the system's own look-up has a
 * few threads for all, which slow name servers of one bridge would take from the
 * others. It is asked only for names that DNS does not have, such as those of the
 * hosts file.
 *
 * @param servers name servers as address:port; none for the system's
 */
export function createNameLookup(servers: readonly string[]): NameLookup {
  const resolver = new Resolver({ timeout: TRY_WITHIN_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);

  return {
    async addresses(name) {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
      if (found.length > 0) return found;
      const faults = answers.flatMap((answer) =>
        answer.status === "rejected" ? [answer.reason as Error] : [],
      );
      if (servers.length > 0 || !faults.every(hasNoSuchName)) throw faults[0] ?? new Error("no address");
      return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);
    },
  };
}

function hasNoSuchName(fault: NodeJS.ErrnoException): boolean {
  return fault.code === "ENOTFOUND" || fault.code === "ENODATA";
}
