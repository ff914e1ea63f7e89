import { randomUUID } from "node:crypto";
import {
  ListDeliveriesRequest,
  SendTestEventRequest,
  type LoggedDelivery,
  type PushHealth,
  type PushTest,
} from "../../proto/gen/chatbridge/v1/workspace";
import type { PublishedEvent } from "../../proto/gen/chatbridge/v1/game";
import { CARD, MESSAGE_ID, published, update, type EventInit } from "./contents";
import { createNames, startNames, type TestNames } from "./names";
import type { LogLine } from "./processes";
import { startReceiver, type ReceivedRequest, type Receiver, type ReceiverOptions } from "./receiver";
import { call, publish, startService, textEvent, type Service, type TestService } from "./service";
import { readSharedService, sharedService, type SharedServiceClient } from "./shared-service";
import { createTestCa, openTestCa, readCertificate, type Certificate, type TestCa } from "./test-ca";
import { until } from "./wait";
import { createWorkspaceApi, type WorkspaceApi } from "./workspace-api";

/** A bridge that is pushed to: a receiver under a name of its own, and its workspace. */
export interface PushedBridge extends Receiver {
  readonly name: string;
  readonly workspaceId: string;
  readonly secret: string;
}

/** The service with names and certificates of a test's own, so that it pushes to loopback over real TLS. */
export interface PushService {
  readonly ca: TestCa;
  /** Of every name under bridge.test. */
  readonly certificate: Certificate;
  readonly names: TestNames;
  readonly service: Service;
  readonly workspaces: WorkspaceApi;
  /** Starts a bridge; one without a target URL polls, at first. */
  bridge(options?: ReceiverOptions & { readonly polls?: boolean }): Promise<PushedBridge>;
  publish(...events: readonly EventInit[]): Promise<readonly PublishedEvent[]>;
  /** The log of a workspace, oldest first. */
  deliveries(workspaceId: string): Promise<readonly LoggedDelivery[]>;
  /** Waits until the log has so many deliveries, and answers them, oldest first. */
  logged(workspaceId: string, count: number, withinMs?: number): Promise<readonly LoggedDelivery[]>;
  /** Waits until core's log, which is not in step with its answers, tells of so many events given up, and answers its lines. */
  givenUp(workspaceId: string, count: number): Promise<readonly LogLine[]>;
  health(workspaceId: string): Promise<PushHealth>;
  /** Sends a ping to a push workspace. */
  ping(workspaceId: string): Promise<PushTest>;
}

/** A push service of a test file's own. */
export interface OwnPushService extends PushService {
  readonly service: TestService;
  close(): Promise<void>;
}

/** What lets a core push to loopback, and to nothing else that is not public. */
export function pushEnvironment(ca: TestCa, nameServer: string): Record<string, string> {
  return { PUSH_ALLOW: "127.0.0.0/8", PUSH_CA: ca.certPath, DNS_SERVERS: nameServer };
}

/** @param more settings of core, over those that let it push to loopback; an empty one is none */
export async function startPushService(
  more: (ca: TestCa) => Record<string, string> = () => ({}),
): Promise<OwnPushService> {
  const ca = createTestCa();
  const names = await startNames();
  const service = await startService({ core: { ...pushEnvironment(ca, names.server), ...more(ca) } });
  const push = pushOver(service, ca, ca.issue(["*.bridge.test"]), names);
  return {
    ...push,
    service,
    async close() {
      await service.close();
      await push.closeBridges();
      await names.close();
      ca.close();
    },
  };
}

/** The shared service, with names of the test file's own. */
export function sharedPush(): PushService & { readonly service: SharedServiceClient } {
  const { nameServer, caFolder, certificate } = readSharedService();
  const service = sharedService();
  const names = createNames();
  const push = pushOver(service, openTestCa(caFolder), readCertificate(certificate), names);
  beforeAll(() => names.listen(Number(nameServer.split(":")[1])));
  afterAll(async () => {
    await push.closeBridges();
    await names.close();
  });
  return { ...push, service };
}

function pushOver(
  service: Service,
  ca: TestCa,
  certificate: Certificate,
  names: TestNames,
): PushService & { closeBridges(): Promise<void> } {
  const { clients } = service;
  const workspaces = createWorkspaceApi(clients.workspaces);
  const receivers: Receiver[] = [];

  async function deliveries(workspaceId: string): Promise<readonly LoggedDelivery[]> {
    const request = ListDeliveriesRequest.create({ workspaceId, pageSize: 1000 });
    const page = await call(clients.workspaces, clients.workspaces.listDeliveries, request);
    return page.deliveries.toReversed();
  }
  return {
    ca,
    certificate,
    names,
    service,
    workspaces,
    deliveries,
    async bridge({ polls = false, ...options } = {}) {
      const name = `${randomUUID()}.bridge.test`;
      names.set(name, [options.host ?? "127.0.0.1"]);
      const receiver = await startReceiver({ certificate, names: [name], ...options });
      receivers.push(receiver);
      const { id, secret } = await workspaces.make({ targetUrl: polls ? "" : receiver.url });
      return { ...receiver, name, workspaceId: id, secret };
    },
    publish: async (...events) => (await publish(clients, ...events)).map(published),
    logged: (workspaceId, count, withinMs) =>
      until(
        `${count} deliveries in the log`,
        async () => {
          const found = await deliveries(workspaceId);
          return found.length >= count && found;
        },
        withinMs,
      ),
    givenUp: (workspaceId, count) =>
      until(`core's log tells of ${count} events given up`, () => {
        const found = service.core.log.filter(
          (entry) => entry["msg"] === "a push was given up" && entry["workspaceId"] === workspaceId,
        );
        return found.length >= count && found;
      }),
    async health(workspaceId) {
      const { health } = await workspaces.get(workspaceId);
      if (health?.mode?.$case !== "push") throw new Error("it is no push workspace");
      return health.mode.value;
    },
    async ping(workspaceId) {
      const request = SendTestEventRequest.create({ workspaceId });
      const { outcome } = await call(clients.workspaces, clients.workspaces.sendTestEvent, request);
      if (outcome?.$case !== "push") throw new Error("it was not pushed");
      return outcome.value;
    },
    closeBridges: async () => void (await Promise.all(receivers.map((receiver) => receiver.close()))),
  };
}

/** So many events that are retried, of different messages. */
export function textEvents(workspaceId: string, count: number): readonly EventInit[] {
  return Array.from({ length: count }, (_, i) => textEvent(workspaceId, String(i)));
}

/** An event that is not retried. */
export function cardUpdate(workspaceId: string, text = "x"): EventInit {
  return { workspaceId, content: update("c1", { ...CARD, id: MESSAGE_ID, text }) };
}

/** The id of the event that a request pushes. */
export function eventIdOf({ headers }: Pick<ReceivedRequest, "headers">): string {
  return String(headers["service-event-id"]);
}
