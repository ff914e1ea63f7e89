import * as fc from "fast-check";
import { createAddressShield } from "../../edge/public/address-shield";
import { forMany } from "../harness/for-all";

const LIMIT = 500;

/** A model of the limit that all edges share: at most 500 requests in any period of one second. */
function createSharedLimit() {
  const admitted: number[] = [];
  return (now: number): boolean => {
    if (admitted.filter((at) => at > now - 1000).length >= LIMIT) return false;
    admitted.push(now);
    return true;
  };
}

// time: controlled
// contract: check-2
test("the edge never rejects a request that the shared limit would admit, and rejects a flood without calling core", () => {
  const bursts = fc.array(
    fc.record({ gapMs: fc.integer({ min: 0, max: 1500 }), count: fc.integer({ min: 1, max: 700 }) }),
    { minLength: 1, maxLength: 8 },
  );
  forMany(20, bursts, (sent) => {
    const shield = createAddressShield();
    const shared = createSharedLimit();
    let now = 0;
    let asked = 0;
    let admitted = 0;
    for (const { gapMs, count } of sent) {
      now += gapMs;
      for (let i = 0; i < count; i++) {
        const early = shield.refuse("192.0.2.1", now) !== undefined;
        const late = !shared(now);
        if (early) {
          expect(late).toBe(true);
          continue;
        }
        asked += 1;
        if (late) continue;
        admitted += 1;
        shield.admitted("192.0.2.1", now);
      }
    }
    // In this test, each answer arrives before the next request is sent. So the edge always knows core's last decision,
    // and core admits each request that the edge passes on.
    expect(asked).toBe(admitted);
  });
});

// time: controlled
// contract: error-429
test("Retry-After is in whole seconds, at least 1, and each address is counted separately", () => {
  const shield = createAddressShield();
  for (let i = 0; i < LIMIT; i++) shield.admitted("192.0.2.1", i);
  expect(shield.refuse("192.0.2.1", 600)).toBe(1);
  expect(shield.refuse("192.0.2.2", 600)).toBeUndefined();
  expect(shield.refuse("192.0.2.1", 1000)).toBeUndefined();
});

// time: controlled
test("the addresses of an IPv6 /64 network together have ten times the limit of one address; other networks are not affected", () => {
  const shield = createAddressShield();
  const addressOf = (i: number) => `2001:db8:0:1::${(i % 2_000).toString(16)}`;
  const refused = (address: string, now: number) => shield.refuse(address, now) !== undefined;
  const answers = Array.from({ length: 10 * LIMIT + 100 }, (_, i) => refused(addressOf(i), 100));
  expect(answers.indexOf(true)).toBe(10 * LIMIT);
  expect(shield.refusals).toBe(100);
  expect(shield.refuse("2001:db8:0:1:ffff::1", 999)).toBe(1);
  expect(refused("2001:db8:0:2::1", 999)).toBe(false);
  expect(refused("192.0.2.1", 999)).toBe(false);
  expect(refused(addressOf(0), 1_000)).toBe(false);
});

test("an IPv4 address has only its own limit: requests from other addresses of its network do not count", () => {
  const shield = createAddressShield();
  const answers = Array.from({ length: 20 * LIMIT }, (_, i) =>
    shield.refuse(`192.0.${i % 250}.${i % 200}`, 100),
  );
  expect(answers.every((answer) => answer === undefined)).toBe(true);
});

test("the edge's memory is bounded: the edge forgets an address after requests from many other addresses", () => {
  const shield = createAddressShield();
  for (let i = 0; i < LIMIT; i++) shield.admitted("192.0.2.1", 1);
  for (let i = 0; i < 20_000; i++) shield.admitted(`2001:db8::${i.toString(16)}`, 1);
  expect(shield.refuse("192.0.2.1", 2)).toBeUndefined();
});

// time: controlled
test("a request counts for one second after it was sent, even if core's answer is delayed", () => {
  const shield = createAddressShield();
  for (let i = 0; i < LIMIT - 1; i++) shield.admitted("192.0.2.1", 100 + i);
  // Core's answer to the first request arrives last.
  shield.admitted("192.0.2.1", 0);
  expect(shield.refuse("192.0.2.1", 999)).toBe(1);
  expect(shield.refuse("192.0.2.1", 1050)).toBeUndefined();
});
