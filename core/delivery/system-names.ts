import { lookup } from "node:dns/promises";
import type { NameLookup } from "../ports/name-lookup";

/** Looks names up as the system does, hosts file included. */
export const systemNames: NameLookup = {
  async addresses(name) {
    return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);
  },
};
