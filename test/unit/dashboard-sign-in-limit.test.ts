import { createSignInLimit } from "../../edge/dashboard/sign-in-limit";

let nowMs = 0;
const limit = () => createSignInLimit(() => nowMs);

// time: controlled
test("ten sign-in attempts are allowed from an address within a minute, and more after the minute has ended", () => {
  const { refuse } = limit();
  for (let i = 0; i < 10; i++) expect(refuse("192.0.2.1")).toBeUndefined();
  expect(refuse("192.0.2.1")).toBe(60);
  expect(refuse("192.0.2.2")).toBeUndefined();
  nowMs += 59_999;
  expect(refuse("192.0.2.1")).toBe(1);
  nowMs += 1;
  expect(refuse("192.0.2.1")).toBeUndefined();
});

test("the addresses of one IPv6 /64 network count as one address", () => {
  const { refuse } = limit();
  for (let i = 0; i < 10; i++) expect(refuse(`2001:db8:0:1::${i}`)).toBeUndefined();
  expect(refuse("2001:db8:0:1:ffff::")).toBe(60);
  expect(refuse("2001:db8:0:2::")).toBeUndefined();
});

test("a correct token does not count as a failed attempt, and does not allow more attempts with wrong tokens", () => {
  const { refuse, accept } = limit();
  for (let i = 0; i < 9; i++) {
    expect(refuse("192.0.2.1")).toBeUndefined(); // a wrong token
    expect([refuse("192.0.2.1"), accept("192.0.2.1", "ann")]).toEqual([undefined, undefined]);
  }
  expect([refuse("192.0.2.1"), refuse("192.0.2.1")]).toEqual([undefined, 60]);
});

// time: controlled
test("a token or an address can sign in at most 240 times a minute; other tokens and addresses are not affected", () => {
  const { refuse, accept } = limit();
  const signIn = (address: string, name: string) => refuse(address) ?? accept(address, name);
  for (let i = 0; i < 240; i++) expect(signIn(`192.0.2.${i}`, "ann")).toBeUndefined();
  expect(signIn("192.0.2.250", "ann")).toBe(60);
  for (let i = 0; i < 240; i++) expect(signIn("198.51.100.1", `token-${i}`)).toBeUndefined();
  expect(signIn("198.51.100.1", "bob")).toBe(60);
  expect(signIn("192.0.2.1", "bob")).toBeUndefined();
  nowMs += 60_000;
  expect([signIn("192.0.2.250", "ann"), signIn("198.51.100.1", "bob")]).toEqual([undefined, undefined]);
});

// time: controlled
test("an address can look up 120 unknown sessions a minute; sessions that are found do not count", () => {
  const { lookUp, found } = limit();
  for (let i = 0; i < 500; i++) {
    expect(lookUp("192.0.2.1")).toBeUndefined();
    found("192.0.2.1");
  }
  for (let i = 0; i < 120; i++) expect(lookUp("192.0.2.1")).toBeUndefined();
  expect([lookUp("192.0.2.1"), lookUp("192.0.2.2")]).toEqual([60, undefined]);
  nowMs += 60_000;
  expect(lookUp("192.0.2.1")).toBeUndefined();
});
