import { randomUUID } from "node:crypto";
import { ListDeliveriesRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { CARD, MESSAGE_ID, published, update, type EventInit } from "./contents";
import { call, type CoreClients } from "./core-clients";
import { createNames, startNames, type TestNames } from "./names";
import { startReceiver, type ReceivedRequest, type Receiver, type ReceiverOptions } from "./receiver";
import { publish, startService, textEvent, type Service } from "./service";
import { readSharedService, sharedService } from "./shared-service";
import { createTestCa, openTestCa, readCertificate, type Certificate, type TestCa } from "./test-ca";
import { until } from "./wait";

/** A bridge that receives pushes: a receiver with a separate host name, and the bridge's workspace. */
export type PushedBridge = Awaited<ReturnType<ReturnType<typeof pushOver>["bridge"]>>;

/** The service, with a name server and certificates for tests: core pushes to loopback over real TLS. */
export type PushService = ReturnType<typeof sharedPush> | OwnPushService;
export type OwnPushService = Awaited<ReturnType<typeof startPushService>>;

/** Returns settings that allow core to push to loopback, and that make core log every dropped push. */
export function pushEnvironment(ca: TestCa, nameServer: string): Record<string, string> {
  return { PUSH_ALLOW: "127.0.0.0/8", PUSH_CA: ca.certPath, DNS_SERVERS: nameServer, LOG_LEVEL: "debug" };
}

/** @param more returns the settings of core that override `pushEnvironment`; an empty value unsets a setting */
export async function startPushService(more: (ca: TestCa) => Record<string, string> = () => ({})) {
  const ca = createTestCa();
  const names = await startNames();
  const service = await startService({ core: { ...pushEnvironment(ca, names.server), ...more(ca) } });
  const push = pushOver(service, ca, ca.issue(["*.bridge.test"]), names);
  return {
    ...push,
    async close() {
      await service.close();
      await push.closeBridges();
      await names.close();
      ca.close();
    },
  };
}

/** Returns the shared service, and starts a name server for this test file. */
export function sharedPush() {
  const { nameServer, caFolder, certificate } = readSharedService();
  const names = createNames();
  const push = pushOver(sharedService(), openTestCa(caFolder), readCertificate(certificate), names);
  beforeAll(() => names.listen(Number(nameServer.split(":")[1])));
  afterAll(async () => {
    await push.closeBridges();
    await names.close();
  });
  return push;
}

/** Returns the delivery log of a workspace, oldest first. */
export async function deliveriesOf({ workspaces }: CoreClients, workspaceId: string) {
  const request = ListDeliveriesRequest.create({ workspaceId, pageSize: 1000 });
  return (await call(workspaces, workspaces.listDeliveries, request)).deliveries.toReversed();
}

function pushOver<S extends Service>(service: S, ca: TestCa, certificate: Certificate, names: TestNames) {
  const { clients, workspaces } = service;
  const receivers: Receiver[] = [];
  const deliveries = (workspaceId: string) => deliveriesOf(clients, workspaceId);
  return {
    ca,
    /** A certificate for every name under bridge.test. */
    certificate,
    names,
    service,
    workspaces,
    deliveries,
    /** Starts a bridge and creates its workspace. If `polls` is true, the workspace has no target URL. */
    async bridge({ polls = false, ...options }: ReceiverOptions & { polls?: boolean } = {}) {
      const name = `${randomUUID()}.bridge.test`;
      names.set(name, [options.host ?? "127.0.0.1"]);
      const receiver = await startReceiver({ certificate, names: [name], ...options });
      receivers.push(receiver);
      const { id, secret } = await workspaces.make({ targetUrl: polls ? "" : receiver.url });
      return { ...receiver, name, workspaceId: id, secret };
    },
    publish: async (...events: readonly EventInit[]) => (await publish(clients, ...events)).map(published),
    /** Waits until the delivery log has `count` lines. Returns the lines, oldest first. */
    logged: (workspaceId: string, count: number) =>
      until(`${count} deliveries are in the log`, async () => {
        const found = await deliveries(workspaceId);
        return found.length >= count && found;
      }),
    /**
     * Waits until core has logged `count` dropped events. Core may log a drop after it has answered the call
     * that published the event. Returns the log lines.
     */
    givenUp: (workspaceId: string, count: number) =>
      until(`core's log has ${count} dropped events`, () => {
        const found = service.core.log.filter(
          (entry) => entry["msg"] === "a push was dropped" && entry["workspaceId"] === workspaceId,
        );
        return found.length >= count && found;
      }),
    async health(workspaceId: string) {
      const { health } = await workspaces.get(workspaceId);
      if (health?.mode?.$case !== "push") throw new Error("not a push workspace");
      return health.mode.value;
    },
    async ping(workspaceId: string) {
      const { outcome } = await workspaces.sendTestEvent(workspaceId);
      if (outcome?.$case !== "push") throw new Error("the test event was not pushed");
      return outcome.value;
    },
    closeBridges: () => Promise.all(receivers.map((receiver) => receiver.close())),
  };
}

/** Returns `count` events, each of which creates a message. Core retries failed pushes of these events. */
export function textEvents(workspaceId: string, count: number): readonly EventInit[] {
  return Array.from({ length: count }, (_, i) => textEvent(workspaceId, String(i)));
}

/** Returns an event that updates a message. Core does not retry a failed push of this event. */
export function cardUpdate(workspaceId: string, text = "x"): EventInit {
  return { workspaceId, content: update("c1", { ...CARD, id: MESSAGE_ID, text }) };
}

export function eventIdOf({ headers }: Pick<ReceivedRequest, "headers">): string {
  return String(headers["service-event-id"]);
}
