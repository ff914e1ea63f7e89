import { parseRedisUrl } from "../../core/store/redis/url";

const OPEN = { username: undefined, password: undefined, database: 0, tls: false };

const at = (host: string, port: number) => ({ host, port });
const server = (address: object, access = {}) => ({
  kind: "server",
  address,
  access: { ...OPEN, ...access },
});
const WORD = { ...OPEN, password: "word", tls: true };
const APP = { username: "app", password: "p@ss:", database: 3, tls: true };

test.each([
  ["redis://r1", server(at("r1", 6379))],
  ["redis://r1:7000/", server(at("r1", 7000))],
  ["rediss://app:p%40ss%3A@[::1]:7000/3", server(at("::1", 7000), APP)],
  ["redis://:word@r1", server(at("r1", 6379), { password: "word" })],
  ["unix:///run/a%20b.sock", server({ path: "/run/a b.sock" })],
  [
    "rediss+sentinel://app:word@s1,s2:5000/events/2?sentinel_user=ops&sentinel_password=p%26w&sentinel_tls=no",
    {
      kind: "sentinel",
      sentinels: [at("s1", 26379), at("s2", 5000)],
      sentinelAccess: { username: "ops", password: "p&w", database: 0, tls: false },
      master: "events",
      access: { username: "app", password: "word", database: 2, tls: true },
    },
  ],
  [
    "redis+sentinel://s1/events",
    { kind: "sentinel", sentinels: [at("s1", 26379)], sentinelAccess: OPEN, master: "events", access: OPEN },
  ],
  [
    "rediss+cluster://:word@c1:7000,[fe80::1]:7001,c3",
    { kind: "cluster", seeds: [at("c1", 7000), at("fe80::1", 7001), at("c3", 6379)], access: WORD },
  ],
])("%s is parsed into its servers, credentials and database", (url, target) => {
  expect(parseRedisUrl(url)).toEqual(target);
});

test.each([
  ["127.0.0.1:7000", "is not a Redis URL"],
  ["http://r1", "is not a Redis URL"],
  ["redis+proxy://r1", "is not a Redis URL"],
  ["redis://", "is not a Redis URL"],
  ["unix://", "has no socket path"],
  ["redis://r1,r2", "has several hosts: use redis+sentinel:// or redis+cluster://"],
  ["redis://r1:0", "has a host that is not host:port"],
  ["redis://r1:65536", "has a host that is not host:port"],
  ["redis://app@r1", "has a user without a password"],
  ["redis://:%zz@r1", "has an invalid percent escape"],
  ["redis://r1/x", "has a database that is not a number"],
  ["redis://r1?timeout=3", "has an unknown parameter"],
  ["redis+sentinel://s1", "must end with /<name of the master>[/<database>]"],
  ["redis+sentinel://s1/events/0/1", "must end with /<name of the master>[/<database>]"],
  ["redis+sentinel://s1/events?master=x", "has an unknown parameter"],
  ["redis+cluster://c1/1", "has a database, but a cluster has none: remove it"],
  ["redis+cluster://c1,,c2", "has a host that is not host:port"],
])("%s is rejected: it %s", (url, fault) => {
  expect(() => parseRedisUrl(url)).toThrow(fault);
});

test("the error message never contains the password", () => {
  expect(() => parseRedisUrl("redis://app:secret@r1/x")).toThrow(/^(?!.*secret)/);
});
