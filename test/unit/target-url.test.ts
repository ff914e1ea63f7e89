import { createTargetUrlCheck } from "../../core/delivery/public-host";
import { parseTargetUrl } from "../../core/domain/target-url";

const FAULTS: Readonly<Record<string, readonly string[]>> = {
  "must begin with https://": [
    "http://bridge.example/events",
    "ftp://bridge.example/events",
    "https:bridge.example",
    "https:/bridge.example",
    "https:///bridge.example",
  ],
  "must be an absolute URL": [
    "bridge.example/events",
    "/events",
    "https://",
    " https://bridge.example/",
    "https://bridge.example/a b",
    "https://bridge.example/\n",
    "https:\\\\bridge.example",
    "https://bridge.example\\@other.example/",
  ],
  "must not contain a user name or password": ["user", ":word", "user:word"].map(
    (user) => `https://${user}@bridge.example/`,
  ),
  "must not have a fragment": ["https://bridge.example/#top"],
  "must be at most 2048 characters": [`https://bridge.example/${"a".repeat(2048)}`],
};

const REFUSED = Object.entries(FAULTS).flatMap(([why, urls]) => urls.map((url) => [url, why] as const));

// contract: push-https
test.each(REFUSED)("the target URL %j is rejected: it %s", (text, why) => {
  expect(parseTargetUrl(text)).toEqual(expect.stringContaining(why));
});

test.each([
  "https://bridge.example/events",
  "HTTPS://Bridge.Example:8443/a/b?c=d&e",
  "https://bridge.example",
  "https://[2001:4860:4860::8888]/events",
])("the target URL %s is well-formed", (text) => {
  expect(parseTargetUrl(text)).toBeInstanceOf(URL);
});

const ADDRESSES = new Map([
  ["public.example", ["8.8.8.8", "2001:4860:4860::8888"]],
  ["mixed.example", ["8.8.8.8", "10.0.0.1"]],
  ["empty.example", []],
]);
const addresses = async (name: string) => ADDRESSES.get(name) ?? Promise.reject(new Error("ENOTFOUND"));
const check = createTargetUrlCheck({ names: { addresses }, allow: [] });

// contract: push-https, push-private
test.each<[string, string | undefined]>([
  ["https://public.example/events", undefined],
  ["https://8.8.4.4/events", undefined],
  ["https://mixed.example/events", "10.0.0.1, which is not a public address (private)"],
  ["https://empty.example/events", "has no address"],
  ["https://unknown.example/events", "could not be looked up"],
  ...["2130706433", "0x7f.0.0.1", "127.1", "127.0.0.1."].map((host): [string, string] => [
    `https://${host}/events`,
    "127.0.0.1 is not a public address (loopback)",
  ]),
  ["https://[::1]/events", "::1 is not a public address (loopback)"],
  ["https://127.0.0.1.example/events", "could not be looked up"],
  ["https://[::ffff:10.0.0.1]/events", "not a public address (private)"],
  ["http://public.example/events", "must begin with https://"],
])("the check of the target URL %s finds this fault: %s (undefined: none)", async (url, why) => {
  const fault = await check.findFault(url);
  expect(fault).toEqual(why === undefined ? undefined : expect.stringContaining(why));
});
