import { status as grpc } from "@grpc/grpc-js";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DeliveryResult, type LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import { MESSAGE_ID, update } from "../harness/contents";
import {
  sharedPush,
  startPushService,
  type OwnPushService,
  type PushedBridge,
  type PushService,
} from "../harness/push";
import { startReceiver, type Receiver, type ReceiverOptions } from "../harness/receiver";
import { refusal } from "../harness/workspace-api";

const { SUCCESS, REFUSED_ADDRESS, TLS } = DeliveryResult;

/** Pushes to loopback; to nowhere but public addresses; and to loopback without the test's own root. */
const push = sharedPush();
let strict: OwnPushService;
let rootless: OwnPushService;
let proxy: Receiver;
beforeAll(async () => {
  proxy = await startReceiver();
  [strict, rootless] = await Promise.all([
    startPushService(() => ({ PUSH_ALLOW: "" })),
    startPushService((ca) => ({
      PUSH_CA: "",
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
      NODE_EXTRA_CA_CERTS: ca.certPath,
      HTTPS_PROXY: proxy.url,
      https_proxy: proxy.url,
      ALL_PROXY: proxy.url,
    })),
  ]);
}, 60_000);
afterAll(async () => {
  await Promise.all([strict, rootless].map((service) => service.close()));
  await proxy.close();
});

/** Pushes one event that is not retried; answers what was logged of it. */
async function attempt(service: PushService, { workspaceId }: PushedBridge): Promise<LoggedDelivery> {
  const before = (await service.deliveries(workspaceId)).length;
  const message = { id: MESSAGE_ID, kind: MessageKind.CARD, text: "x" };
  await service.publish({ workspaceId, content: update("c1", message) });
  const delivery = (await service.logged(workspaceId, before + 1)).at(-1);
  if (delivery === undefined) throw new Error("nothing was logged");
  return delivery;
}

/** A bridge whose name is a public address when the URL is set, and these addresses from then on. */
async function movedBridge(service: PushService, addresses: readonly string[]): Promise<PushedBridge> {
  const bridge = await service.bridge({ polls: true });
  service.names.set(bridge.name, ["8.8.8.8"]);
  await service.workspaces.setTargetUrl(bridge.workspaceId, bridge.url);
  service.names.set(bridge.name, addresses);
  return bridge;
}

/** Addresses that are not all public, and the word for the first one that is not. */
const REFUSED = [
  ["loopback", ["127.0.0.1"], "loopback"],
  ["all of loopback", ["127.9.9.9"], "loopback"],
  ["this host", ["0.0.0.0"], "unspecified"],
  ["a private one", ["10.0.0.1"], "private"],
  ["another private one", ["172.16.0.1"], "private"],
  ["a third private one", ["192.168.0.1"], "private"],
  ["cloud metadata", ["169.254.169.254"], "cloud metadata"],
  ["Azure's host agent", ["168.63.129.16"], "cloud metadata"],
  ["carrier-grade NAT", ["100.64.0.1"], "carrier-grade NAT"],
  ["multicast", ["224.0.0.1"], "multicast"],
  ["broadcast", ["255.255.255.255"], "broadcast"],
  ["documentation", ["192.0.2.1"], "reserved"],
  ["loopback v6", ["::1"], "loopback"],
  ["unique local v6", ["fd00::1"], "private"],
  ["link-local v6", ["fe80::1"], "link-local"],
  ["mapped loopback", ["::ffff:127.0.0.1"], "loopback"],
  ["translated private", ["64:ff9b::a00:1"], "private"],
  ["6to4 of loopback", ["2002:7f00:1::"], "loopback"],
  ["a public one and a private one", ["8.8.8.8", "10.0.0.1"], "private"],
  ["a private one and a public one", ["10.0.0.1", "8.8.8.8"], "private"],
  ["a public one and a private v6 one", ["8.8.8.8", "fd00::1"], "private"],
  ["a public v6 one and loopback", ["2606:4700::1111", "127.0.0.1"], "loopback"],
] as const;

// contract: push-private
describe("a name that is", () => {
  test.each(REFUSED)(
    "%s %j is refused when it is set and when it is pushed to: %s",
    async (_what, addresses, why) => {
      const unset = await strict.bridge({ polls: true });
      strict.names.set(unset.name, addresses);
      await expect(strict.workspaces.setTargetUrl(unset.workspaceId, unset.url)).rejects.toMatchObject(
        refusal(grpc.INVALID_ARGUMENT, new RegExp(`^target_url: ${unset.name} is at .*${why}`)),
      );
      const moved = await movedBridge(strict, addresses);
      expect(await attempt(strict, moved)).toMatchObject({ result: REFUSED_ADDRESS, status: 0, address: "" });
      expect([unset.connections, moved.connections]).toEqual([[], []]);
    },
  );
});

test("PUSH_ALLOW allows its blocks and no others", async () => {
  const [inside, outside, both] = await Promise.all([
    movedBridge(push, ["127.0.0.1"]),
    movedBridge(push, ["10.0.0.1"]),
    movedBridge(push, ["127.0.0.1", "10.0.0.1"]),
  ]);
  const results = await Promise.all([inside, outside, both].map((bridge) => attempt(push, bridge)));
  expect(results.map(({ result }) => result)).toEqual([SUCCESS, REFUSED_ADDRESS, REFUSED_ADDRESS]);
  expect([outside.connections, both.connections]).toEqual([[], []]);
});

test("a connection goes to the addresses that were checked: its name is looked up once", async () => {
  const bridge = await push.bridge();
  const decoy = await push.bridge({ host: "127.0.0.2", port: bridge.port, polls: true });
  const lookups = push.names.lookups(bridge.name);
  push.names.set(bridge.name, ({ number }) => (number === lookups + 1 ? ["127.0.0.1"] : ["127.0.0.2"]));
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS, address: "127.0.0.1" });
  expect(push.names.lookups(bridge.name)).toBe(lookups + 1);
  // The connection is kept, so nothing is looked up for the next event either.
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS, address: "127.0.0.1" });
  expect(push.names.lookups(bridge.name)).toBe(lookups + 1);
  expect([bridge.connections.length, decoy.connections.length]).toEqual([1, 0]);
});

// contract: push-private
test("a name that turns to a refused address is refused from the next connection on", async () => {
  const bridge = await push.bridge();
  bridge.behave({ answer: ({ response }) => response.writeHead(204, { Connection: "close" }).end() });
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS });
  push.names.set(bridge.name, ["10.0.0.1"]);
  expect(await attempt(push, bridge)).toMatchObject({ result: REFUSED_ADDRESS });
  push.names.set(bridge.name, ["127.0.0.1"]);
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS });
  expect(bridge.requests).toHaveLength(2);
});

test("of several addresses another is tried when one does not take the connection", async () => {
  const bridge = await push.bridge();
  push.names.set(bridge.name, ["127.0.0.77", "127.0.0.1"]);
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS, address: "127.0.0.1" });
});

test("the name is asked for in TLS and in the Host header; an address of the URL in neither's place", async () => {
  const named = await push.bridge();
  await attempt(push, named);
  expect(named.requests[0]).toMatchObject({
    servername: named.name,
    headers: { host: `${named.name}:${named.port}` },
  });
  const plain = await push.bridge({ certificate: push.ca.issue(["127.0.0.1"]) });
  await push.workspaces.setTargetUrl(plain.workspaceId, plain.urlOf("127.0.0.1"));
  expect(await attempt(push, plain)).toMatchObject({ result: SUCCESS });
  expect(plain.requests[0]?.servername).toBeUndefined();
  expect(plain.requests[0]?.headers.host).toBe(`127.0.0.1:${plain.port}`);
});

describe("a certificate", () => {
  const ROWS: readonly (readonly [string, DeliveryResult, () => ReceiverOptions])[] = [
    ["of the name is accepted", SUCCESS, () => ({})],
    ["for another name is refused", TLS, () => ({ certificate: push.ca.issueForWrongName() })],
    ["that has expired is refused", TLS, () => ({ certificate: push.ca.issueExpired(["*.bridge.test"]) })],
    [
      "that only itself vouches for is refused",
      TLS,
      () => ({ certificate: push.ca.selfSigned(["*.bridge.test"]) }),
    ],
    ["of an unknown root is refused", TLS, () => ({ certificate: strict.ca.issue(["*.bridge.test"]) })],
    ["under TLS 1.1 is refused", TLS, () => ({ tls: { minVersion: "TLSv1", maxVersion: "TLSv1.1" } })],
  ];
  test.each(ROWS)("%s", async (_name, result, options) => {
    const bridge = await push.bridge(options());
    expect(await attempt(push, bridge)).toMatchObject({ result, status: result === SUCCESS ? 204 : 0 });
    expect(bridge.requests).toHaveLength(result === SUCCESS ? 1 : 0);
  });

  test("of a root that only the environment trusts, or of none, is refused: only PUSH_CA adds a root", async () => {
    const bridge = await rootless.bridge();
    expect(await attempt(rootless, bridge)).toMatchObject({ result: TLS, address: "127.0.0.1" });
    expect(bridge.requests).toHaveLength(0);
  });
});

test("no proxy of the environment is used", async () => {
  const bridge = await rootless.bridge();
  await attempt(rootless, bridge);
  expect([bridge.connections.length, proxy.connections.length]).toEqual([1, 0]);
});
