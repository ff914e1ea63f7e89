import { status as grpc } from "@grpc/grpc-js";
import { DeliveryResult, type LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import {
  cardUpdate,
  sharedPush,
  startPushService,
  type OwnPushService,
  type PushedBridge,
  type PushService,
} from "../harness/push";
import { withCore } from "../harness/service";
import { startReceiver, type Receiver, type ReceiverOptions } from "../harness/receiver";
import { expectRejected } from "../harness/workspace-api";

const { SUCCESS, REFUSED_ADDRESS, TLS } = DeliveryResult;

/**
 * The services `push` and `rootless` allow loopback addresses, but only `push` trusts the test CA. `strict` allows only
 * public addresses.
 */
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
});
afterAll(async () => {
  await Promise.all([strict, rootless].map((service) => service.close()));
  await proxy.close();
});

/** Pushes one event that is not retried; returns the event's entry in the delivery log. */
async function attempt(service: PushService, { workspaceId }: PushedBridge): Promise<LoggedDelivery> {
  const before = (await service.deliveries(workspaceId)).length;
  await service.publish(cardUpdate(workspaceId));
  const delivery = (await service.logged(workspaceId, before + 1)).at(-1);
  if (delivery === undefined) throw new Error("nothing was logged");
  return delivery;
}

/**
 * Returns a bridge whose name resolves to a public address when the target URL is set, and to `addresses` afterwards.
 */
async function movedBridge(service: PushService, addresses: readonly string[]): Promise<PushedBridge> {
  const bridge = await service.bridge({ polls: true });
  service.names.set(bridge.name, ["8.8.8.8"]);
  await service.workspaces.setTargetUrl(bridge.workspaceId, bridge.url);
  service.names.set(bridge.name, addresses);
  return bridge;
}

// Every kind of address is tested in test/unit/public-address.test.ts.
// contract: push-private
test.each([
  [["127.0.0.1"], "loopback"],
  [["10.0.0.1"], "private"],
  [["169.254.169.254"], "cloud metadata"],
  [["fd00::1"], "private"],
  [["::ffff:127.0.0.1"], "loopback"],
  [["8.8.8.8", "10.0.0.1"], "private"],
  [["2606:4700::1111", "127.0.0.1"], "loopback"],
])(
  "a name with the addresses %j is rejected when the target URL is set and when an event is pushed: %s",
  async (addresses, why) => {
    const unset = await strict.bridge({ polls: true });
    strict.names.set(unset.name, addresses);
    const setting = strict.workspaces.setTargetUrl(unset.workspaceId, unset.url);
    const words = new RegExp(`^target_url: ${unset.name} is at .*${why}`);
    await expectRejected(setting, grpc.INVALID_ARGUMENT, words);
    const moved = await movedBridge(strict, addresses);
    expect(await attempt(strict, moved)).toMatchObject({ result: REFUSED_ADDRESS, status: 0, address: "" });
    expect([unset.connections, moved.connections]).toEqual([[], []]);
  },
);

// contract: push-https
test("a rejected target URL is not set; without DNS_SERVERS, the system looks up the name of a target URL", async () => {
  await withCore(push.service.redis.url, {}, async ({ workspaces }) => {
    const { id } = await workspaces.make();
    for (const [url, why] of [
      ["http://8.8.8.8/", "https://"],
      ["https://localhost/", "loopback"],
    ] as const) {
      const words = new RegExp(`^target_url: .*${why}`);
      await expectRejected(workspaces.setTargetUrl(id, url), grpc.INVALID_ARGUMENT, words);
    }
    expect((await workspaces.get(id)).workspace?.targetUrl).toBe("");
  });
});

test("core connects to the addresses that it checked, because it looks up a name only once per connection", async () => {
  const bridge = await push.bridge();
  const decoy = await push.bridge({ host: "127.0.0.2", port: bridge.port, polls: true });
  const lookups = push.names.lookups(bridge.name);
  push.names.set(bridge.name, ({ number }) => (number === lookups + 1 ? ["127.0.0.1"] : ["127.0.0.2"]));
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS, address: "127.0.0.1" });
  expect(push.names.lookups(bridge.name)).toBe(lookups + 1);
  // The connection is reused, so core does not look up the name for the next event.
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS, address: "127.0.0.1" });
  expect(push.names.lookups(bridge.name)).toBe(lookups + 1);
  expect([bridge.connections.length, decoy.connections.length]).toEqual([1, 0]);
});

// contract: push-private
test("a name that starts to resolve to a private address is rejected from the next connection on", async () => {
  const bridge = await push.bridge();
  bridge.behave({ answer: ({ response }) => response.writeHead(204, { Connection: "close" }).end() });
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS });
  push.names.set(bridge.name, ["10.0.0.1"]);
  expect(await attempt(push, bridge)).toMatchObject({ result: REFUSED_ADDRESS });
  push.names.set(bridge.name, ["127.0.0.1"]);
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS });
  expect(bridge.requests).toHaveLength(2);
});

test("if one of several addresses does not accept the connection, core tries another address", async () => {
  const bridge = await push.bridge();
  push.names.set(bridge.name, ["127.0.0.77", "127.0.0.1"]);
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS, address: "127.0.0.1" });
});

test.each([
  ["an IP address is not sent as the server name in TLS", () => "127.0.0.1", () => undefined],
  [
    "a name that ends with a dot is sent without the dot in TLS",
    (name: string) => `${name}.`,
    (name: string) => name,
  ],
])("%s, and is unchanged in the Host header", async (_what, hostOf, servernameOf) => {
  const bridge = await push.bridge({ certificate: push.ca.issue(["127.0.0.1", "*.bridge.test"]) });
  const host = hostOf(bridge.name);
  await push.workspaces.setTargetUrl(bridge.workspaceId, bridge.urlOf(host));
  expect(await attempt(push, bridge)).toMatchObject({ result: SUCCESS });
  const [request] = bridge.requests;
  const asked = [request?.servername, request?.headers.host];
  expect(asked).toEqual([servernameOf(bridge.name), `${host}:${bridge.port}`]);
});

test.each<readonly [string, () => ReceiverOptions]>([
  ["for another name", () => ({ certificate: push.ca.issueForWrongName() })],
  ["that is self-signed", () => ({ certificate: push.ca.selfSigned(["*.bridge.test"]) })],
  ["from an unknown CA", () => ({ certificate: strict.ca.issue(["*.bridge.test"]) })],
  ["presented under TLS 1.1", () => ({ tls: { minVersion: "TLSv1", maxVersion: "TLSv1.1" } })],
])("a certificate %s is rejected", async (_name, options) => {
  const bridge = await push.bridge(options());
  expect(await attempt(push, bridge)).toMatchObject({ result: TLS, status: 0 });
  expect(bridge.requests).toEqual([]);
});

test("without PUSH_CA, core rejects a certificate from a private CA, and ignores the root certificates, TLS options and proxies in the environment", async () => {
  const bridge = await rootless.bridge();
  expect(await attempt(rootless, bridge)).toMatchObject({ result: TLS, address: "127.0.0.1" });
  expect(bridge.requests).toEqual([]);
  expect([bridge.connections.length, proxy.connections.length]).toEqual([1, 0]);
});
