import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import * as fc from "fast-check";
import { limitConnections, networkOf, type ConnectionBounds } from "../../runtime/limit-connections";
import { forAll } from "../harness/for-all";
import { openFlood, type Flood } from "../harness/flood";
import { until } from "../harness/wait";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Starts an echo server whose number of connections is bounded. */
async function start(bounds: ConnectionBounds, host = "127.0.0.1") {
  const server = createServer((socket) => socket.on("error", () => undefined).pipe(socket));
  const refused = limitConnections(server, bounds);
  server.listen(0, host);
  await once(server, "listening");
  closers.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, refused };
}

async function flood(port: number, from: string, count: number): Promise<Flood> {
  const opened = await openFlood(port, from, count, () => "");
  closers.push(opened.end);
  return opened;
}

/** Opens a connection from `from`, and returns whether the server answers. */
function isServed(port: number, from: string): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port, localAddress: from }).on("error", () => undefined);
  closers.push(() => socket.destroy());
  socket.write("x");
  return new Promise((resolve) => {
    socket.once("data", () => resolve(true)).once("close", () => resolve(false));
  });
}

test("an address cannot open more connections than its share, and another address can still connect", async () => {
  const { port, refused } = await start({ max: 100, share: 10 });
  const greedy = await flood(port, "127.0.0.2", 300);
  await until("the connections above the share are closed", () => greedy.closed() === 290);
  expect(await isServed(port, "127.0.0.2")).toBe(false);
  expect(await isServed(port, "127.0.0.3")).toBe(true);
  expect(refused).toEqual({ all: 0, address: 291 });
});

test("an address at its limit can connect again after it closes a connection", async () => {
  const { port } = await start({ max: 100, share: 1 });
  const first = await flood(port, "127.0.0.2", 1);
  expect(await isServed(port, "127.0.0.2")).toBe(false);
  first.end();
  await until("the address is served again", () => isServed(port, "127.0.0.2"));
});

test("all addresses together cannot open more connections than the bound for all, and open connections stay open", async () => {
  const { port, refused } = await start({ max: 20, share: 10 });
  const [first, second] = [await flood(port, "127.0.0.2", 10), await flood(port, "127.0.0.3", 10)];
  expect(await isServed(port, "127.0.0.4")).toBe(false);
  expect([refused.all, first.closed(), second.closed()]).toEqual([1, 0, 0]);
  second.end();
  await until("another address is served", () => isServed(port, "127.0.0.4"));
});

test.each(["127.0.0.2", "127.0.0.0/29", "::1,127.0.0.2"])(
  "the share does not limit the trusted proxies %s",
  async (trusted) => {
    const { port } = await start({ max: 100, share: 10, trusted: trusted.split(",") });
    const proxy = await flood(port, "127.0.0.2", 50);
    expect(await isServed(port, "127.0.0.2")).toBe(true);
    expect(proxy.closed()).toBe(0);
  },
);

test("a listener for IPv4 and IPv6 counts each IPv4 address separately", async () => {
  const { port } = await start({ max: 100, share: 10 }, "::");
  await flood(port, "127.0.0.2", 10);
  expect(await isServed(port, "127.0.0.2")).toBe(false);
  expect(await isServed(port, "127.0.0.3")).toBe(true);
});

test("all addresses of an IPv6 /64 have one key, in every notation, and other networks have other keys", () => {
  const part = fc.integer({ min: 1, max: 0xffff }).map((number) => number.toString(16));
  const half = fc.tuple(part, part, part, part).map((parts) => parts.join(":"));
  forAll(half, half, half, half, (network, other, host, another) => {
    const key = networkOf(`${network}:${host}`);
    expect(networkOf(`${network.toUpperCase()}:${another}%eth0`)).toBe(key);
    expect(networkOf(`${other}:${host}`) === key).toBe(other === network);
  });
});

test("an IPv4 address and its IPv6 form have the same key, and other IPv4 addresses have other keys", () => {
  forAll(fc.ipV4(), fc.ipV4(), (address, other) => {
    expect(networkOf(`::ffff:${address}`)).toBe(networkOf(address));
    expect(networkOf(other) === networkOf(address)).toBe(other === address);
  });
});
