import * as fc from "fast-check";
import { INVENTED_ADDRESS, judgeAddresses } from "../../cli/doctor/address-checks";
import { judgeCertificate } from "../../cli/doctor/certificates";
import { judgeClock, leastSkewMs } from "../../cli/doctor/clocks";
import { parseCoreTarget } from "../../cli/doctor/core-addresses";
import { judgeCores, judgeShared } from "../../cli/doctor/core-checks";
import { worstOf, type Finding, type Result } from "../../cli/doctor/finding";
import { judgeRedis } from "../../cli/doctor/redis-checks";
import { weaknessOf } from "../../core/domain/token-weakness";
import { createAddressProbes } from "../../core/rpc/address-probes";
import { GetInstallationResponse, RedisInfo, RedisMaster } from "../../proto/gen/chatbridge/v1/installation";
import { FollowGroup } from "../../proto/gen/chatbridge/v1/workspace";

const NOW_MS = Date.parse("2026-01-05T09:30:00Z");
const DAY_MS = 86_400_000;
const span = fc.tuple(fc.integer({ min: 0, max: 1e6 }), fc.nat(1e4)).map(([fromMs, ms]) => ({
  fromMs,
  toMs: fromMs + ms,
}));

test("a reported difference of two clocks is never larger than the real one, and has its sign", () => {
  fc.assert(
    fc.property(
      span,
      fc.nat(1e4),
      fc.integer({ min: -1e6, max: 1e6 }),
      fc.nat(1e3),
      (ours, at, skewMs, blur) => {
        const nowMs = Math.min(ours.toMs, ours.fromMs + at);
        // The header rounds the time of the other clock down by at most `blur` ms.
        const fromMs = nowMs + skewMs - Math.min(blur, 999);
        const found = leastSkewMs({ fromMs, toMs: fromMs + 999 }, ours);
        expect(Math.abs(found)).toBeLessThanOrEqual(Math.abs(skewMs));
        expect(found === 0 || Math.sign(found) === Math.sign(skewMs)).toBe(true);
      },
    ),
  );
});

test.each([
  [5_000, "ok"],
  [-5_001, "warn"],
  [60_000, "warn"],
  [-60_001, "fail"],
])("a clock that is off by %d ms is %s", (skewMs, result) => {
  expect(judgeClock("core-clock", "core", skewMs).result).toBe(result);
});

test.each([
  [90, 22, "ok"],
  [90, 20, "warn"],
  [90, 2, "fail"],
  // A short-lived certificate is renewed closer to its expiry.
  [6, 3, "ok"],
  [6, 1, "warn"],
  [6, 0.5, "fail"],
])("a certificate for %d days that ends in %d days is %s", (life, left, result) => {
  const toMs = NOW_MS + left * DAY_MS;
  const sent = { names: "DNS:hooks.example", fromMs: toMs - life * DAY_MS, toMs };
  const facts = { certificates: [sent], fault: undefined };
  expect(judgeCertificate("edge-certificate", "hooks.example", facts, NOW_MS).result).toBe(result);
});

test("if the issuer's certificate expires before the server's own, the earlier expiry counts", () => {
  const certificate = (days: number) => ({
    names: "",
    fromMs: NOW_MS - 300 * DAY_MS,
    toMs: NOW_MS + days * DAY_MS,
  });
  const facts = { certificates: [certificate(60), certificate(1)], fault: undefined };
  expect(judgeCertificate("edge-certificate", "hooks.example", facts, NOW_MS).result).toBe("fail");
});

test("only the worst finding of a check is shown", () => {
  const order: readonly Result[] = ["ok", "skipped", "warn", "fail"];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...order), { minLength: 1 }), (results) => {
      const worst = worstOf(results.map((result): Finding => ({ check: "c", result, says: "" })));
      expect(order.indexOf(worst.result)).toBe(Math.max(...results.map((result) => order.indexOf(result))));
    }),
  );
});

test.each([
  ["127.0.0.1:50051", undefined, ["127.0.0.1:50051"]],
  ["[::1]:50051", undefined, ["::1:50051"]],
  ["ipv4:10.0.0.1:1,10.0.0.2:2", undefined, ["10.0.0.1:1", "10.0.0.2:2"]],
  ["ipv6:[fd00::1]:1,[fd00::2]:2", undefined, ["fd00::1:1", "fd00::2:2"]],
  ["dns:///localhost:50051", "localhost", undefined],
])("CORE_ADDRESS %s leads to its addresses", async (target, name, addresses) => {
  const parsed = parseCoreTarget(target);
  expect(parsed.name).toBe(name);
  const found = (await parsed.addresses()).map(({ host, port }) => `${host}:${port}`);
  if (addresses === undefined) expect(found).toContainEqual(expect.stringMatching(/:50051$/));
  else expect(found).toEqual(addresses);
});

test("a check fails if Redis contains data in a format other than the one that core stores", () => {
  const installation = GetInstallationResponse.create({ storeFormat: 2, storedFormat: 3 });
  const findings = judgeCores([{ at: "core:1", skewMs: 0, installation }], "unknown");
  expect(findings).toContainEqual(expect.objectContaining({ check: "format", result: "fail" }));
});

test.each([
  ["trivia", 30_000, "ok"],
  ["trivia", 61_000, "warn"],
  ["trivia", 13 * 3_600_000, "fail"],
  ["chat-bridge-tail", 13 * 3_600_000, "ok"],
])("a group %s that is %d ms behind is %s", (name, ms, result) => {
  const groups = [FollowGroup.create({ name, streams: 1, unread: 5, oldestAt: new Date(NOW_MS - ms) })];
  expect(judgeShared({ groups, failing: 0 }, NOW_MS)).toMatchObject([
    { check: "games", result },
    { result: "ok" },
  ]);
});

test.each([
  [{ fileWrite: "err", fileRewrite: "ok", snapshot: "ok" }, "fail"],
  [{ fileWrite: "ok", fileRewrite: "err", snapshot: "ok" }, "warn"],
  [{ fileWrite: "", fileRewrite: "", snapshot: "err" }, "warn"],
])("the writes %j of one of two masters are a %s", (writes, result) => {
  const good = { fileWrite: "ok", fileRewrite: "ok", snapshot: "ok" };
  const masters = [good, writes].map((info, at) =>
    RedisMaster.create({ server: `redis-${at}`, info: RedisInfo.create({ version: "7.2.4", ...info }) }),
  );
  const disk = judgeRedis(GetInstallationResponse.create({ masters })).find(
    ({ check }) => check === "redis-disk",
  );
  expect(disk).toMatchObject({ result, says: expect.stringContaining("redis-1") as string });
});

test.each([
  ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", undefined],
  ["0123456789abcdef", /16 characters/],
  ["aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb", /2 different/],
  ["operator-token-for-tests-of-core", /placeholders/],
  ["7Kq-abcdefgh-Zx0pLm2Wn9Rt4Vb6", /successive/],
])("the token %s has the weakness %s", (token, words) => {
  if (words === undefined) expect(weaknessOf(token)).toBeUndefined();
  else expect(weaknessOf(token)).toMatch(words);
});

test("the words about a weak token never contain a part of it", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 16, maxLength: 64 }), (token) => {
      expect(weaknessOf(token) ?? "").not.toContain(token.slice(0, 8));
    }),
  );
});

test.each([
  ["203.0.113.9", "203.0.113.9", "192.0.2.1", "ok"],
  ["203.0.113.50", "203.0.113.9", "192.0.2.1", "skipped"],
])("an edge that received the probe from %s, sent from %s, is judged", (seen, local, remote, result) => {
  const seenInvented = result === "skipped" ? "" : seen;
  const addresses = { seen: result === "skipped" ? "" : seen, seenInvented, local, remote };
  expect(judgeAddresses(addresses).result).toBe(result);
});

test.each([
  // The edge saw a proxy's address: loopback, or a private address although the edge has a public one.
  [{ seen: "127.0.0.1", local: "10.0.0.9", remote: "10.0.0.1" }, "fail"],
  [{ seen: "10.0.0.2", local: "10.9.9.9", remote: "8.8.8.8" }, "fail"],
  [{ seen: "10.0.0.2", local: "10.9.9.9", remote: "10.0.0.1" }, "warn"],
  // The network in which the command runs translates the command's address (NAT).
  [{ seen: "9.9.9.9", local: "10.9.9.9", remote: "8.8.8.8" }, "ok"],
  [{ seen: "127.0.0.1", local: "127.0.0.1", remote: "127.0.0.1" }, "skipped"],
  [{ seen: "9.9.9.9", seenInvented: INVENTED_ADDRESS, local: "9.9.9.9", remote: "8.8.8.8" }, "fail"],
  [{ seen: "10.9.9.9", seenInvented: INVENTED_ADDRESS, local: "10.9.9.9", remote: "8.8.8.8" }, "warn"],
  [{ seen: "unknown", local: "10.9.9.9", remote: "10.0.0.1" }, "warn"],
])("the addresses %j are judged as %s", (addresses, result) => {
  expect(judgeAddresses({ seenInvented: addresses.seen, ...addresses }).result).toBe(result);
});

test("core records only the addresses of announced probes, and forgets the oldest probes", () => {
  const probes = createAddressProbes();
  probes.note("a", "9.9.9.9");
  expect(probes.announce("a")).toBe("");
  probes.note("a", "9.9.9.9");
  probes.note("a", "8.8.8.8");
  expect(probes.announce("a")).toBe("9.9.9.9");
  for (let at = 0; at < 256; at += 1) probes.announce(`further-${at}`);
  expect(probes.announce("a")).toBe("");
});
