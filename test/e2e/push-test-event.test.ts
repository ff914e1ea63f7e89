import { status as grpc } from "@grpc/grpc-js";
import { DeliveryResult, PushStep, SendTestEventRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { garbage, redirect, sayNothing, status, stopInBody } from "../harness/behaviours";
import { type PushedBridge, sharedPush } from "../harness/push";
import { call, textEvent } from "../harness/service";
import { verifyPush } from "../harness/verify-push";
import { refusal } from "../harness/workspace-api";

const { NAME, ADDRESS, CONNECT, TLS, SEND, STATUS } = PushStep;

const push = sharedPush();

const sendTestEvent = (workspaceId: string) => {
  const { workspaces } = push.service.clients;
  return call(workspaces, workspaces.sendTestEvent, SendTestEventRequest.create({ workspaceId }));
};

// contract: test-event-push, lifetime-60s
test("a test event is a signed ping, whose status and latency are answered with every step", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(207, { afterMs: 60 }));
  const { eventId, outcome } = await sendTestEvent(bridge.workspaceId);
  if (outcome?.$case !== "push") throw new Error("not pushed");
  const { delivery, steps, failedStep, failure } = outcome.value;
  expect([failedStep, failure]).toEqual([PushStep.UNSPECIFIED, ""]);
  expect(delivery).toMatchObject({
    eventId,
    eventType: "ping",
    attempt: 1,
    result: DeliveryResult.SUCCESS,
    status: 207,
    address: "127.0.0.1",
  });
  expect(delivery?.latencyMs).toBeGreaterThanOrEqual(59);
  expect(steps.map(({ step }) => step)).toEqual([NAME, ADDRESS, CONNECT, TLS, SEND, STATUS]);
  expect(steps.filter(({ detail }) => detail === "")).toEqual([]);
  expect([steps[0]?.detail, steps[5]?.detail]).toEqual(["127.0.0.1", "207"]);
  const times = steps.map(({ afterMs }) => afterMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));

  const envelope = verifyPush(await bridge.nth(1), [bridge.secret]);
  expect(Object.keys(envelope)).toEqual(["id", "type", "workspace", "sequence", "createdAt", "expiresAt"]);
  expect(envelope).toMatchObject({ id: eventId, type: "ping" });
  expect(Date.parse(envelope.expiresAt ?? "") - Date.parse(envelope.createdAt)).toBe(60_000);
  const log = await push.logged(bridge.workspaceId, 1);
  expect(log.map((entry) => [entry.eventId, entry.attempt, entry.status])).toEqual([[eventId, 1, 207]]);
});

type Row = readonly [
  name: string,
  failed: PushStep,
  result: DeliveryResult,
  words: RegExp,
  arrange: (bridge: PushedBridge) => void | Promise<void>,
];
const ROWS: readonly Row[] = [
  [
    "a name that DNS does not know",
    NAME,
    DeliveryResult.DNS,
    /could not be looked up.*spelling/,
    ({ name }) => push.names.set(name, "NXDOMAIN"),
  ],
  [
    "a name that DNS never answers for",
    NAME,
    DeliveryResult.DNS,
    /could not be looked up/,
    ({ name }) => push.names.set(name, "silence"),
  ],
  [
    "a private address",
    ADDRESS,
    DeliveryResult.REFUSED_ADDRESS,
    /is at 10\.0\.0\.1.*not a public address \(private\)/,
    ({ name }) => push.names.set(name, ["10.0.0.1"]),
  ],
  [
    "a port that nobody listens on",
    CONNECT,
    DeliveryResult.CONNECT,
    /ECONNREFUSED.*check that the bridge runs/,
    (bridge) => bridge.close(),
  ],
  [
    "a port that is not TLS",
    TLS,
    DeliveryResult.TLS,
    /TLS handshake failed.*does not speak TLS/,
    (bridge) => bridge.welcome("garbage"),
  ],
  [
    "a TLS handshake that never ends",
    TLS,
    DeliveryResult.TIMEOUT,
    /handshake was not done within 5 seconds/,
    (bridge) => bridge.welcome("silence"),
  ],
  [
    "no answer",
    STATUS,
    DeliveryResult.TIMEOUT,
    /did not give an answer within 5 seconds/,
    (bridge) => bridge.behave(sayNothing()),
  ],
  [
    "half an answer",
    STATUS,
    DeliveryResult.TIMEOUT,
    /the end of the answer within 5 seconds/,
    (bridge) => bridge.behave(stopInBody()),
  ],
  [
    "an answer that is not HTTP",
    STATUS,
    DeliveryResult.BODY,
    /broke off or was not HTTP/,
    (bridge) => bridge.behave(garbage()),
  ],
  [
    "an answer of 500",
    STATUS,
    DeliveryResult.STATUS,
    /answered 500 where any 2xx is expected/,
    (bridge) => bridge.behave(status(500)),
  ],
  [
    "a redirect",
    STATUS,
    DeliveryResult.STATUS,
    /answered 307.*redirects are not followed/,
    (bridge) => bridge.behave(redirect("https://x.test/", 307)),
  ],
];

describe("a test event that fails says at which step and why, in words to act on:", () => {
  test("the table, and none is retried", async () => {
    const bridges = await Promise.all(ROWS.map(() => push.bridge()));
    // Where a certificate is wrong, too: that needs a bridge made for it.
    const expired = await push.bridge({ certificate: push.ca.issueExpired(["*.bridge.test"]) });
    const tests = await Promise.all([
      ...ROWS.map(async ([, , , , arrange], row) => {
        const bridge = bridges[row];
        if (bridge === undefined) throw new Error("a row without a bridge");
        await arrange(bridge);
        return push.ping(bridge.workspaceId);
      }),
      push.ping(expired.workspaceId),
    ]);
    const expected = [
      ...ROWS,
      [
        "an expired certificate",
        TLS,
        DeliveryResult.TLS,
        /CERT_HAS_EXPIRED.*the certificate has expired/,
      ] as const,
    ];
    const all = [NAME, ADDRESS, CONNECT, TLS, SEND, STATUS];
    for (const [row, [name, failed, result, words]] of expected.entries()) {
      const { failedStep, failure, delivery, steps } = tests[row] ?? {};
      expect([name, failedStep, delivery?.result]).toEqual([name, failed, result]);
      expect(failure).toMatch(words);
      // What was done is just what comes before the step that failed.
      expect([name, steps?.map(({ step }) => step)]).toEqual([name, all.slice(0, all.indexOf(failed))]);
    }
    // An event published now is through with its last attempt later than a retried ping would be.
    const sentinel = await push.bridge();
    sentinel.behave(status(500));
    await push.publish(textEvent(sentinel.workspaceId, "x"));
    await sentinel.waitFor(3);
    for (const bridge of bridges) {
      expect(bridge.requests.length).toBeLessThanOrEqual(1);
      expect(await push.deliveries(bridge.workspaceId)).toHaveLength(1);
    }
  }, 60_000);
});

test("a test event of a disconnected or an unknown workspace is refused", async () => {
  const bridge = await push.bridge();
  await push.workspaces.disconnect(bridge.workspaceId);
  await expect(sendTestEvent(bridge.workspaceId)).rejects.toMatchObject(
    refusal(grpc.FAILED_PRECONDITION, "not connected"),
  );
  await expect(sendTestEvent("11111111-2222-4333-8444-555555555555")).rejects.toMatchObject(
    refusal(grpc.NOT_FOUND, ""),
  );
  expect(bridge.connections).toEqual([]);
});

test("a test event does not wait behind a bridge's other events", async () => {
  const bridge = await push.bridge();
  bridge.behave(({ body }) => (body.includes('"type":"ping"') ? status(204) : sayNothing()));
  await push.publish(...Array.from({ length: 40 }, (_, i) => textEvent(bridge.workspaceId, String(i))));
  await bridge.waitFor(16);
  expect((await push.ping(bridge.workspaceId)).delivery).toMatchObject({ status: 204 });
});
