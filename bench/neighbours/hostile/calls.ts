import { OutboundEvent } from "../../../proto/gen/chatbridge/v1/game";
import { ListDeliveriesRequest } from "../../../proto/gen/chatbridge/v1/workspace";
import { textEvent } from "../neighbour";
import { attempt } from "../tally";
import type { Attack, Attacker, Taken } from "./hostile";

const CALLS = 4_000;
const CALLS_AT_ONCE = 800;
const PAGE_SIZE = 1_000;

const HELD_CALLS = 60;
const HELD_AT_ONCE = 4;
/** Number of events in a call. Events of `HELD_BYTES` each make the call almost 4 MB long, which is gRPC's limit. */
const HELD_EVENTS = 60;
const HELD_BYTES = 60_000;

const DEAD_CALLS = 60;
const DEAD_EVENTS = 100;
/** Nothing listens on port 1 (tcpmux). */
const REFUSING_URL = "https://127.0.0.1:1/";

const OPERATOR_EVENTS = 600;
const TEST_EVENTS = 3_000;
const TARGET_URLS = 600;
/** Number of concurrent test calls: more than one token may have in progress. */
const TESTS_AT_ONCE = 300;
/** Milliseconds after which a client cancels a call. */
const CANCELLED_MS = 2_000;

/** Keeps many calls in flight: half of them by an operator, and half by a game that publishes events. */
export const manyCalls: Attack = ({ client, tenant, signal }) =>
  attempt({ count: CALLS, atOnce: CALLS_AT_ONCE, signal }, (number) => {
    const { workspaces } = client;
    const request = ListDeliveriesRequest.create({ workspaceId: tenant.pushed.id, pageSize: PAGE_SIZE });
    return number % 2 === 0
      ? client.operator(workspaces.listDeliveries, request)
      : client.publish([expiring(textEvent(tenant.polled, "x"))]);
  });

/** Returns the event with a lifetime of one second, so that Redis soon frees its memory. */
function expiring(event: OutboundEvent): OutboundEvent {
  return OutboundEvent.create({ ...event, lifetime: { seconds: 1 } });
}

/** Publishes large events to a workspace whose bridge never polls. */
export const holdEvents: Attack = ({ client, tenant, signal }) =>
  attempt({ count: HELD_CALLS, atOnce: HELD_AT_ONCE, signal }, () => {
    const text = "x".repeat(HELD_BYTES);
    return client.publish(Array.from({ length: HELD_EVENTS }, () => textEvent(tenant.polled, text)));
  });

/** Publishes many events to a bridge that accepts connections but never answers. */
export const pushToDead: Attack = (attacker) => pushTo(attacker, attacker.deadUrl);

/** Publishes many events to an address that refuses connections, so that all attempts fail immediately. */
export const pushToRefusing: Attack = (attacker) => pushTo(attacker, REFUSING_URL);

async function pushTo({ client, tenant, signal }: Attacker, targetUrl: string): Promise<Taken> {
  const { workspaces, operator } = client;
  await operator(workspaces.setTargetUrl, { workspaceId: tenant.pushed.id, targetUrl });
  return attempt({ count: DEAD_CALLS, atOnce: HELD_AT_ONCE, signal }, () =>
    client.publish(Array.from({ length: DEAD_EVENTS }, () => textEvent(tenant.pushed, "x"))),
  );
}

/** Sends test operator events to an address that never answers, and cancels the calls. */
export const operatorEvents: Attack = async ({ client, tenant, deadUrl, signal }) => {
  const { workspaces, operator } = client;
  const workspaceId = tenant.pushed.id;
  await operator(workspaces.setOperatorEventsAddress, { workspaceId, address: deadUrl });
  return attempt({ count: OPERATOR_EVENTS, atOnce: TESTS_AT_ONCE, signal }, () =>
    operator(workspaces.sendTestOperatorEvent, { workspaceId }, CANCELLED_MS),
  );
};

/** Sends test events to a bridge that never answers, and cancels the calls. */
export const testEvents: Attack = async ({ client, tenant, deadUrl, signal }) => {
  const { workspaces, operator } = client;
  const workspaceId = tenant.pushed.id;
  await operator(workspaces.setTargetUrl, { workspaceId, targetUrl: deadUrl });
  return attempt({ count: TEST_EVENTS, atOnce: TESTS_AT_ONCE, signal }, () =>
    operator(workspaces.sendTestEvent, { workspaceId }, CANCELLED_MS),
  );
};

/** Sets target URLs with host names for which the name server never answers. */
export const unknownNames: Attack = ({ client, tenant, signal }) =>
  attempt({ count: TARGET_URLS, atOnce: TESTS_AT_ONCE, signal }, (number) => {
    const { workspaces, operator } = client;
    const [workspaceId, targetUrl] = [tenant.pushed.id, `https://n${number}-${tenant.name}.test/`];
    return operator(workspaces.setTargetUrl, { workspaceId, targetUrl }, CANCELLED_MS);
  });
