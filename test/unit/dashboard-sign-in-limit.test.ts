import { createSignInLimit } from "../../edge/dashboard/sign-in-limit";

let nowMs = 0;
const limit = () => createSignInLimit(() => nowMs);

// time: controlled
test("an address can try to sign in ten times within a minute, and then again when the minute is over", () => {
  const { refuse } = limit();
  for (let i = 0; i < 10; i++) expect(refuse("192.0.2.1")).toBeUndefined();
  expect(refuse("192.0.2.1")).toBe(60);
  expect(refuse("192.0.2.2")).toBeUndefined();
  nowMs += 59_999;
  expect(refuse("192.0.2.1")).toBe(1);
  nowMs += 1;
  expect(refuse("192.0.2.1")).toBeUndefined();
});

test("the addresses of one IPv6 /64 network count as one address, and a successful sign-in resets the number of attempts", () => {
  const { refuse, forget } = limit();
  for (let i = 0; i < 10; i++) expect(refuse(`2001:db8:0:1::${i}`)).toBeUndefined();
  expect(refuse("2001:db8:0:1:ffff::")).toBe(60);
  expect(refuse("2001:db8:0:2::")).toBeUndefined();
  forget("2001:db8:0:1::77");
  expect(refuse("2001:db8:0:1::1")).toBeUndefined();
});
