import { shardOf } from "../domain/shard";

/**
 * The names of all keys. Every workspace belongs to one shard. All keys of a shard contain the shard's hash tag, so a
 * function can use these keys together even on a cluster. A function is called with the shard's prefix, and appends the
 * rest of each key.
 *
 * | key (after the prefix)      | type   | lives                        | written by                     |
 * |-----------------------------|--------|------------------------------|--------------------------------|
 * | `:ws:<workspace>`           | string | as the workspace             | put_workspace: the record as JSON, with encrypted secrets |
 * | `:st:<workspace>`           | hash   | as the workspace             | the state of the workspace: see functions/state.lua |
 * | `:all`                      | zset   | always                       | put_workspace: `<created, 13 digits>:<workspace>`, ordered as text |
 * | `:held:<workspace>`         | stream | 24 to 25 h after last event  | publish, record_pushes: events for polling; id is `<sequence>-0`, and the field's name is the event's number and publisher (see held.lua) |
 * | `:push`                     | stream | an event until it is pushed  | publish: events of push workspaces; record_pushes removes them |
 * | `:pushbytes`                | string | as `:push`                   | publish, record_pushes: bytes of the events in `:push` |
 * | `:tries`                    | hash   | as its event in `:push`      | record_pushes: attempts made, and time of the first failure |
 * | `:log:<workspace>`          | stream | 7 days, the last thousand    | log_delivery, record_pushes, publish: attempts and drops |
 * | `:polls:<workspace>`        | list   | 7 days, the last 500         | page, and each function that ends a run: polls that returned events, and runs of polls without events |
 * | `:changes:<workspace>`      | list   | as the workspace, the last 200 | put_workspace: changes that operators made, the newest first |
 * | `:sends:<workspace>`        | list   | as the workspace, the last 50 | log_change: the same for test events and events sent again |
 * | `:tests:<workspace>`        | list   | 7 days                       | log_delivery: ids of the entries of `:log:` for test events, and the ids of the events; the last 20 |
 * | `:failed:<workspace>`       | zset   | 24 h after last failure      | record_pushes, publish, log_delivery: ids of the failed events, by the time of the failure in ms; send_again removes them |
 * | `:failedevents:<workspace>` | hash   | as `:failed:`                | as `:failed:`: the failed events by their ids, and in `bytes` their total size; at most 100 events and 1 MB |
 * | `:failed`, `:failedbytes`   | zset, string | as `:failed:` of the last failure | as `:failed:`: sizes and ids of the failed events of the shard, by the time of the failure; the sum of the sizes, at most 64 MB |
 * | `:again:<workspace>`        | list   | 7 days after last send       | send_again: `<time, ms> <event id> <name of the token>` of each event sent again, the newest last; the last 300 |
 * | `:responses:<workspace>`    | stream | 24 h after last response     | record_pushes, log_delivery: starts of bridges' responses; id is that of the attempt in `:log:`; the last hundred |
 * | `:hour:<workspace>`        | hash   | 65 min after last request    | add_requests: number of requests in each five minutes of the last hour, by kind (see requests.lua); most writes reach the append-only file later |
 * | `:refused:<workspace>`     | hash   | 24 h after last refusal      | add_requests: the last refused request of each class, as JSON of at most 1 KB; most writes reach the append-only file later |
 * | `:due`                      | zset   | while events wait or pushes fail | publish, record_pushes, log_delivery, page, put_workspace: time at which a workspace begins to fail, ms |
 * | `:states`                   | zset   | as the workspaces            | settle in states.lua: `<rank>:<time, 13 digits>:<workspace>`, ordered as text |
 * | `:turns`                    | zset   | while the state can end      | settle: time at which the state of a workspace may end by itself, ms |
 * | `:statechecks`              | hash   | always                       | check_states: the progress of the check of all states |
 * | `:mail`                     | stream | an email until it is sent    | find_failing: emails about outages |
 * | `:operator`                 | stream | an event until it is sent, 24 h | find_failing, page, record_pushes, log_delivery, put_workspace: operator events: workspace (`w`), type (`t`) and facts (`f`) |
 * | `:operators:<workspace>`    | list   | 24 h                         | as `:operator`: ids of the workspace's entries in `:operator`, oldest first; the last 100 |
 * | `:operatordropped`          | string | until it is read             | as `:operator`: number of events that a full outbox has dropped; find_failing reads and deletes it |
 * | `:tested:<name>`            | list   | an hour                      | admit_test: times of the last 30 tests of the address for operator events, µs, newest first; the name is a workspace, `installation`, or the digest of an email address |
 * | `:key:<workspace>:<digest>` | string | 24 h                         | publish: the answer for an idempotency key |
 * | `:in`                       | stream | until every group has acked, at most 24 h | append: workspace (`w`) and event (`e`); read by groups of followers; tidy_inbound removes acked events |
 * | `:infirst`                  | string | as `:in`                     | append, tidy_inbound: first id that was left in `:in` after the last trim that could lose events |
 * | `:id:<half day>:<bucket>`   | hash   | 24 h 10 min after half day   | append: digests of request ids |
 * | `:same:<10 min>:<bucket>`   | hash   | 10 min after the interval    | append: digests of requests without an id |
 * | `:lease:<group>`            | string | LEASE_MS                     | take_lease: token of the member that works on the shard: a core (group `!cores`) or a stream of followers |
 * | `:members:<group>`          | hash   | an hour after the last join  | join_group: the members of a group, each with its token and the number of its rule, its age, and the time of its last join |
 * | `:live:<group>`             | string | LEASE_MS                     | join_group: cache of the live members' names; leave_group deletes it |
 * | `:made`                     | hash   | as the groups in `:in`       | open_group: when each group was made, µs; drop_group deletes the group's field |
 * | `:groups` of shard 0 only   | hash   | as the groups                | see groups.lua: the registry of all groups of followers |
 * | `:sealed:<kind>:<id>` of shard 0 only | hash | as the session or link | put_sealed: an encrypted session or sign-in link of the dashboard: see sealed.lua |
 * | `:sealed:<kind>` of shard 0 only | zset | as `:sealed:<kind>:<id>` | put_sealed, read_sealed, take_sealed: tokens' names and ids of the entries, by the time of the last use, µs |
 *
 * In addition, the key `cb:shards` contains the mark of the store: the number of shards, which is fixed when core starts
 * for the first time, and the format of the data (see domain/store-format.ts). While the data is migrated to another
 * format, `cb:migration` is the lock of the migrating process, and the hash `:migration` of each shard counts the
 * converted events. `deploy/backup/backup.sh` writes the times of the last complete backup and of the last failed
 * backup, in seconds since the epoch. The keys are `cb:backup` and `cb:backupfailed`; on a cluster, they are `:backup`
 * and `:backupfailed` after the prefix of each shard.
 */
export type Keys = ReturnType<typeof createKeys>;

/** The key of the mark: the number of shards and the format of the data. */
export const SHARDS_KEY = "cb:shards";

/** The shard whose slot contains the registry of the groups of followers, and the sealed entries. */
export const REGISTRY_SHARD = 0;

export function createKeys(shards: number) {
  const prefixes = Array.from({ length: shards }, (_, shard) => `cb:{s${shard}}`);
  const shard = (name: string): number => shardOf(name, shards);
  function prefix(ofShard: number): string {
    const found = prefixes[ofShard];
    if (found === undefined) throw new RangeError(`there is no shard ${ofShard} of ${shards}`);
    return found;
  }
  return {
    shards,
    /** Returns the shard of a workspace, an address or a group. */
    shard,
    /** Returns the prefix of a shard's keys. */
    prefix,
    /** Returns the prefix of the keys of a workspace, an address or a group. */
    prefixOf: (name: string): string => prefix(shard(name)),
    /** The prefix of each shard's keys. */
    prefixes: prefixes as readonly string[],
    /** The prefix of the shard that stores the registry of the groups of followers, and the sealed entries. */
    registry: prefix(REGISTRY_SHARD),
  };
}

/** The keys that store the times of the last backups. */
interface BackupKeys {
  readonly complete: string;
  readonly failed: string;
}

/**
 * Returns the keys that store the times of the last backups. On a cluster, each shard has its own keys, because each
 * master has its own backup.
 */
export function backupKeys({ prefixes }: Keys, isOneMaster: boolean): readonly BackupKeys[] {
  const starts = isOneMaster ? ["cb"] : prefixes;
  return starts.map((start) => ({ complete: `${start}:backup`, failed: `${start}:backupfailed` }));
}
