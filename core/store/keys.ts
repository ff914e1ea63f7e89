import { shardOf } from "../domain/shard";

/**
 * The names of all keys. Every workspace belongs to one shard, and all keys of a
 * shard carry its hash tag, so that one function can touch them together on a
 * cluster too. Functions take the shard's prefix and append the rest.
 *
 * | key (after the prefix)      | type   | lives                        | written by                     |
 * |-----------------------------|--------|------------------------------|--------------------------------|
 * | `:ws:<workspace>`           | string | as the workspace             | put_workspace: its record, JSON, secrets encrypted |
 * | `:st:<workspace>`           | hash   | as the workspace             | put_workspace: version, mode; publish: sequence, held (last held sequence), total (how many were ever held); page: polled (µs), served, run (the polls that brought nothing, since when and how many); both: gone (highest expired sequence), oldest (lowest that is left); find_failing: failing (ms); record_pushes, when it holds what was queued: sequence, held, total, lifted, published |
 * | `:all`                      | zset   | always                       | put_workspace: `<created, 13 digits>:<workspace>`, ordered as text |
 * | `:held:<workspace>`         | stream | 24 to 25 h after the last    | publish, record_pushes: events for polling; id is `<sequence>-0`, the field is the event's number |
 * | `:push`                     | stream | an event until it is pushed  | publish: events of push workspaces; record_pushes takes them out |
 * | `:pushbytes`                | string | as `:push`                   | publish, record_pushes: how many bytes the events in `:push` have |
 * | `:tries`                    | hash   | as its event in `:push`      | record_pushes: attempts made, and when the first failed |
 * | `:log:<workspace>`          | stream | 7 days, the last thousand    | log_delivery, record_pushes, publish: attempts and drops |
 * | `:polls:<workspace>`        | list   | 7 days, the last 500         | page, and what ends a run: polls that brought events, and runs of polls that brought none |
 * | `:due`                      | zset   | while events wait            | publish, record_pushes, page, put_workspace: when a poll workspace comes to fail, ms |
 * | `:mail`                     | stream | a mail until it is sent      | find_failing: mails about outages |
 * | `:key:<workspace>:<digest>` | string | 24 h                         | publish: the answer under an idempotency key |
 * | `:in`                       | stream | an event 24 h                | append: w workspace, e event; groups of followers |
 * | `:infirst`                  | string | as `:in`                     | append: where `:in` began when it was last trimmed |
 * | `:id:<half day>:<bucket>`   | hash   | 24 h after the half day      | append: digests of request ids |
 * | `:same:<10 min>:<bucket>`   | hash   | 10 min after the ten minutes | append: digests of requests without id |
 * | `:rate:<workspace>`         | list   | seconds                      | append, page: when the last requests were let through, µs; not logged |
 * | `:ip:<address>`             | list   | seconds                      | admit, append, page: the same, by sending address; not logged |
 * | `:lease:<group>`            | string | LEASE_MS                     | take_lease: who works on the shard for the group: a core (`!cores`) or a stream of followers |
 * | `:members:<group>`          | hash   | an hour                      | join_group: the members of a group, each with its token, its age, and when it was last heard of |
 * | `:alive:<group>`            | string | LEASE_MS                     | join_group: their names, and as of when; leave_group takes it away |
 *
 * Beside them `cb:shards` holds the number of shards, fixed at the first start.
 */
export interface Keys {
  readonly shards: number;
  /** The shard of a workspace, an address or a group. */
  shard(name: string): number;
  /** The prefix of a shard's keys. */
  prefix(shard: number): string;
}

/** Where the number of shards is kept. */
export const SHARDS_KEY = "cb:shards";

export function createKeys(shards: number): Keys {
  const prefixes = Array.from({ length: shards }, (_, shard) => `cb:{s${shard}}`);
  return {
    shards,
    shard: (name) => shardOf(name, shards),
    prefix(shard) {
      const prefix = prefixes[shard];
      if (prefix === undefined) throw new RangeError(`there is no shard ${shard} of ${shards}`);
      return prefix;
    },
  };
}
