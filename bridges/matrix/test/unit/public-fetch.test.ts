import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import ipaddr from "ipaddr.js";
import { createPublicFetch, type PublicFetchOptions } from "../../client/public-fetch";

const LOOPBACK = [ipaddr.parseCIDR("127.0.0.0/8")];
const { signal } = new AbortController();
const requests: string[] = [];
const redirect = (response: ServerResponse, location: string) => response.writeHead(302, { location }).end();
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  "/image": (response) => response.writeHead(200, { "content-type": "Image/PNG; q=1" }).end("bytes"),
  "/long": (response) => response.end("x".repeat(2_000)),
  "/silent": () => undefined,
  "/slow": (response) => response.write("x"),
  "/once": (response) => redirect(response, "/image"),
  "/again": (response) => redirect(response, "/again"),
  "/private": (response) => redirect(response, "http://169.254.169.254/latest/meta-data"),
  "/mapped": (response) => redirect(response, `http://[::ffff:10.0.0.1]:${port()}/image`),
  "/file": (response) => redirect(response, "file:///etc/passwd"),
  "/nowhere": (response) => response.writeHead(302).end(),
};
const server = createServer((request, response) => {
  requests.push(`${request.headers.host} ${request.url}`);
  const answer = ANSWERS[request.url ?? ""];
  if (answer === undefined) response.writeHead(404).end();
  else answer(response);
});
const port = () => (server.address() as AddressInfo).port;
const base = () => `http://127.0.0.1:${port()}`;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => void requests.splice(0));
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const fetchWith = (options: Partial<PublicFetchOptions> = {}) =>
  createPublicFetch({ allow: LOOPBACK, accept: "image/png", bytesMax: 1_000, withinMs: 60_000, ...options });

test("the fetch connects to an allowed address, and follows redirects", async () => {
  const get = fetchWith();
  const image = { bytes: Buffer.from("bytes"), type: "image/png" };
  expect(await get(`${base()}/image`, signal)).toEqual(image);
  expect(await get(`${base()}/once`, signal)).toEqual(image);
  expect(requests).toHaveLength(3);
});

test.each([
  "http://127.0.0.1",
  "http://127.1",
  "http://0x7f000001",
  "http://2130706433",
  "http://0.0.0.0",
  "http://[::1]",
  "http://[::ffff:127.0.0.1]",
  "http://[::ffff:0:127.0.0.1]",
  "http://[64:ff9b::7f00:1]",
  "http://[2002:7f00:1::1]",
  "http://[2606:4700::5efe:7f00:1]",
  "http://10.0.0.1",
  "http://169.254.169.254",
  "https://192.168.0.1",
  "http://localhost",
  "http://name.example",
  "http://user:password@name.example",
])("without an allowed address, nothing is sent to %s", async (origin) => {
  const get = fetchWith({ allow: [], resolve: async () => ["8.8.8.8", "127.0.0.1"] });
  const url = `${origin}:${port()}/image`;
  const failure = await get(url, signal).catch((error: unknown) => error as Error);
  expect(failure).toMatchObject({
    message: expect.stringMatching(/^the host has an address that is not public/),
  });
  expect(requests).toEqual([]);
});

test.each(["/private", "/mapped"])(
  "a redirect to a host that is not public is not followed: %s",
  async (path) => {
    await expect(fetchWith()(base() + path, signal)).rejects.toThrow(/not public/);
    expect(requests).toHaveLength(1);
  },
);

test("the connection goes to the address that was checked, and the name is looked up once", async () => {
  const lookups: string[] = [];
  // The second answer of the name server differs, as in a DNS rebinding attack.
  const resolve = async (name: string) => (lookups.push(name) === 1 ? ["127.0.0.1"] : ["127.0.0.2"]);
  const { bytes } = await fetchWith({ resolve })(`http://name.example:${port()}/image`, signal);
  expect(String(bytes)).toBe("bytes");
  expect(lookups).toEqual(["name.example"]);
  expect(requests).toEqual([`name.example:${port()} /image`]);
});

test.each([
  ["/again", "the answer redirects more than 3 times"],
  ["/file", "the URL is not http or https"],
  ["/nowhere", "the answer is 302"],
  ["/missing", "the answer is 404"],
  ["/long", "the answer is longer than 1000 bytes"],
])("the answer of %s is rejected: %s", async (path, message) => {
  await expect(fetchWith()(base() + path, signal)).rejects.toThrow(message);
});

test.each(["file:///etc/passwd", "data:image/png;base64,AA", "ftp://8.8.8.8/a", "no URL"])(
  "%s is not fetched",
  async (url) => {
    await expect(fetchWith()(url, signal)).rejects.toThrow(/^the URL is/);
  },
);

// time: smoke
test.each(["/silent", "/slow", "lookup"])("a fetch has a time limit: %s", async (path) => {
  const get = fetchWith({ withinMs: 50, resolve: () => new Promise(() => undefined) });
  const url = path === "lookup" ? "http://name.example/" : base() + path;
  await expect(get(url, signal)).rejects.toThrow("the answer was not complete within 0.05 s");
});

test("a bridge that stops aborts the fetch", async () => {
  const over = new AbortController();
  const fetched = fetchWith()(`${base()}/silent`, over.signal);
  over.abort();
  await expect(fetched).rejects.toMatchObject({ name: "AbortError" });
});
