import { ErrorReply } from "@redis/client";
import { pino } from "pino";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { redisFault, replyFault } from "../../core/store/redis/fault-words";
import { createOutageLog } from "../../runtime/outage-log";

// time: controlled
test("an outage is logged once a minute for each reason, and its end is logged once, with the duration", () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  let now = 1_000;
  const outages = createOutageLog({
    log: pino({ base: null, timestamp: false, formatters: { level: (level) => ({ level }) } }, { write }),
    level: "warn",
    lost: "lost",
    back: "back",
    facts: { address: "a" },
    now: () => now,
  });
  outages.works();
  expect(lines).toEqual([]);
  for (const [reason, until] of [
    ["one", 30_000],
    ["two", 60_999],
    ["one", 61_000],
  ] as const) {
    for (; now <= until; now += 500) outages.failed(reason);
  }
  outages.works();
  outages.works();
  const lost = { level: "warn", address: "a", msg: "lost" };
  expect(lines).toEqual([
    { ...lost, reason: "one" },
    { ...lost, reason: "two" },
    { ...lost, reason: "one" },
    { level: "info", seconds: 60.5, msg: "back" },
  ]);
  outages.failed("one");
  expect(lines.at(-1)).toEqual({ ...lost, reason: "one" });
});

// time: controlled
test("an outage whose reason keeps changing is logged, and takes a bounded amount of memory", () => {
  const reasons: unknown[] = [];
  const write = (line: string) => void reasons.push((JSON.parse(line) as { reason: unknown }).reason);
  const outages = createOutageLog({
    log: pino({}, { write }),
    level: "error",
    lost: "",
    back: "",
    now: () => 0,
  });
  for (let i = 0; i < 17; i++) outages.failed(String(i));
  for (let i = 16; i > 0; i--) outages.failed(String(i));
  expect(reasons).toHaveLength(17);
  outages.failed("0");
  expect(reasons).toHaveLength(18);
});

test.each([
  ["LOADING Redis is loading the dataset in memory", "Redis is loading its data (LOADING)"],
  [
    "NOAUTH HELLO must be called with the client already authenticated",
    /^Redis requires a password \(NOAUTH\)/,
  ],
  ["WRONGPASS invalid username-password pair", /^Redis rejects the user name or the password \(WRONGPASS\)/],
  ["ERR No such master with that name", "Redis rejects calls: ERR No such master with that name"],
  [
    "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'a' 'secret'",
    "Redis rejects calls: ERR unknown command 'HELLO'",
  ],
])("the reply %j of Redis is explained in one line, without arguments", (reply, words) => {
  const error = new ErrorReply(reply);
  const all = [replyFault(error), redisFault(error), redisFault(new StoreUnavailable("x", { cause: error }))];
  for (const each of all)
    expect(each).toEqual(typeof words === "string" ? words : expect.stringMatching(words));
});

test("if connections to all addresses of a name fail, the logged reason is the first error", () => {
  const error = new AggregateError([new Error("connect ECONNREFUSED ::1:6379"), new Error("second")]);
  expect([redisFault(error), replyFault(error)]).toEqual(["connect ECONNREFUSED ::1:6379", undefined]);
});
