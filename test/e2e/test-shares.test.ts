import { status as code, type ServiceError } from "@grpc/grpc-js";
import { OUTSIDE_CALLS_MAX } from "../../core/domain/bounds";
import { bearer } from "../../runtime/core-channel";
import { sayNothing, status } from "../harness/behaviours";
import { call, connectToCore, type CoreClients } from "../harness/core-clients";
import { outputOf } from "../harness/output";
import { TOKENS } from "../harness/processes";
import { cardUpdate, startPushService, type OwnPushService } from "../harness/push";
import { startMailServer, type TestMailServer } from "../harness/mail-server";
import { startReceiver, type Receiver } from "../harness/receiver";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const HOSTILE = "the-token-of-a-hostile-operator";

let push: OwnPushService;
let mail: TestMailServer;
let hostile: CoreClients;
const receivers: Receiver[] = [];

beforeAll(async () => {
  mail = await startMailServer();
  const tokens = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
  push = await startPushService(() => ({
    CORE_TOKENS: [...tokens, `operator:eve=${HOSTILE}`].join(),
    SMTP_URL: mail.url,
    MAIL_FROM: "Bridges <bridges@service.test>",
  }));
  hostile = connectToCore(push.service.core.port);
});
afterAll(async () => {
  hostile.close();
  await push.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
  await mail.close();
});

/** Starts a receiver of operator events with its own name. */
async function startOps(): Promise<Receiver> {
  const name = `ops-${receivers.length}.bridge.test`;
  push.names.set(name, ["127.0.0.1"]);
  const receiver = await startReceiver({ certificate: push.certificate, names: [name] });
  receivers.push(receiver);
  return receiver;
}

const setAddress = (workspaceId: string, address: string) => {
  const { workspaces } = push.service.clients;
  return call(workspaces, workspaces.setOperatorEventsAddress, { workspaceId, address });
};
const sendTest = (workspaceId: string, { workspaces } = push.service.clients, token?: string) =>
  call(workspaces, workspaces.sendTestOperatorEvent, { workspaceId }, token);

/** Counts the calls that are still pending, and collects the statuses of the completed calls. */
function begin(calls: readonly Promise<unknown>[]) {
  const counts = { pending: calls.length, codes: new Set<code | undefined>() };
  const ended = calls.map(async (each) => {
    const error = await each.then(
      () => undefined,
      (fault: unknown) => fault as ServiceError,
    );
    counts.pending -= 1;
    counts.codes.add(error?.code);
  });
  return { counts, ended: Promise.all(ended) };
}

// time: ordering
test("600 tests of addresses that never answer delay neither the events nor the tests of another workspace", async () => {
  const stalled = await startOps();
  stalled.behave(sayNothing());
  const ids: string[] = [];
  for (let i = 0; i < 40; i++) ids.push((await push.workspaces.make()).id);
  for (const id of ids) await setAddress(id, stalled.url);
  const bridge = await push.bridge();
  bridge.behave(status(503));
  const ops = await startOps();
  await setAddress(bridge.workspaceId, ops.url);

  const calls = ids.flatMap((id) => Array.from({ length: 15 }, () => sendTest(id, hostile, HOSTILE)));
  const { counts, ended } = begin(calls);
  await until("the other calls are refused", () => counts.pending <= OUTSIDE_CALLS_MAX.ofToken);
  await stalled.waitFor(1);
  expect((await sendTest(bridge.workspaceId)).results).toMatchObject([{ accepted: true }]);
  await push.publish(cardUpdate(bridge.workspaceId));
  await ops.waitFor(2);
  const types = ops.requests.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type);
  expect(types).toEqual(["test", "event.retries_exhausted"]);
  await ended;
  expect(counts.codes).toEqual(new Set([undefined, code.RESOURCE_EXHAUSTED]));
  // The limit per minute lets at most 5 tests of each workspace pass.
  const perWorkspace = ids.map(
    (id) => stalled.requests.filter(({ headers }) => headers["service-workspace"] === id).length,
  );
  expect(Math.max(...perWorkspace)).toBeLessThanOrEqual(5);
});

// time: ordering
test("cancelling a test of an operator address stops its attempt, even before an earlier attempt has timed out", async () => {
  const stalled = await startOps();
  stalled.behave(sayNothing());
  const { id } = await push.workspaces.make();
  await setAddress(id, stalled.url);
  const earlier = sendTest(id);
  await stalled.waitFor(1);
  const { workspaces } = push.service.clients;
  const calling = workspaces.sendTestOperatorEvent({ workspaceId: id }, bearer(TOKENS.operator), () => {});
  await stalled.waitFor(2);
  calling.cancel();
  await earlier;
  const [first, second] = stalled.connections;
  await until("core closes both connections", () => first?.closedAt && second?.closedAt);
  expect(second?.closedAt).toBeLessThan(first?.closedAt ?? 0);
  expect(outputOf(push.service.core)).not.toContain("unexpected error");
});

// time: ordering
test("at most 16 test events of a workspace are in progress at a time, and another workspace's pushes are not delayed", async () => {
  const [bridge, healthy] = [await push.bridge(), await push.bridge()];
  bridge.behave(sayNothing());
  const { workspaceId } = bridge;
  const { workspaces } = hostile;
  const calls = Array.from({ length: 200 }, () =>
    call(workspaces, workspaces.sendTestEvent, { workspaceId }, HOSTILE),
  );
  const { counts, ended } = begin(calls);
  await bridge.waitFor(1);
  await push.publish(textEvent(healthy.workspaceId, "hello"));
  await healthy.waitFor(1);
  expect(bridge.connections.filter(({ closedAt }) => closedAt === undefined).length).toBeLessThanOrEqual(16);
  await ended;
  expect(counts.codes).toEqual(new Set([undefined, code.RESOURCE_EXHAUSTED]));
});

test("test events do not displace other changes from the log of changes, and core logs each change", async () => {
  const { id, secret } = await push.workspaces.make({ ownerEmail: "owner@customer.test" });
  const rotated = await push.workspaces.rotate(id);
  await setAddress(id, "https://1.1.1.1/?token=hidden");
  for (let i = 0; i < 210; i++) {
    await call(hostile.workspaces, hostile.workspaces.sendTestEvent, { workspaceId: id }, HOSTILE);
  }
  const { workspaces } = push.service.clients;
  const { changes } = await call(workspaces, workspaces.listChanges, { workspaceId: id });
  expect(changes.filter(({ tokenName }) => tokenName === "eve")).toHaveLength(50);
  expect(changes.filter(({ tokenName }) => tokenName === "operator")).toHaveLength(3);
  expect(changes.map(({ tokenName }) => tokenName).indexOf("operator")).toBe(50);

  const lines = push.service.core.log.filter(({ workspaceId, change }) => workspaceId === id && change);
  const facts = lines.map(({ change, by, level }) => [change, by, level]);
  expect(facts.slice(0, 4)).toEqual([
    ["created", "operator", "info"],
    ["secret-rotated", "operator", "info"],
    ["operator-events-set", "operator", "info"],
    ["test-event-sent", "eve", "info"],
  ]);
  const text = JSON.stringify(lines);
  for (const hidden of [secret, rotated.signingSecret, "hidden", "owner@customer.test"])
    expect(text).not.toContain(hidden);
});

test("tests of an email address are limited, and the refusal says when to try again", async () => {
  const ids = [(await push.workspaces.make()).id, (await push.workspaces.make()).id];
  for (const id of ids) await setAddress(id, "team@customer.test");
  for (let i = 0; i < 5; i++)
    expect((await sendTest(ids[0] ?? "")).results).toMatchObject([{ accepted: true }]);
  const again = /^too many tests of the workspace's address were sent: try again in \d+ seconds$/;
  await expectRejected(sendTest(ids[0] ?? ""), code.RESOURCE_EXHAUSTED, again);
  await expectRejected(sendTest(ids[1] ?? ""), code.RESOURCE_EXHAUSTED, "tests of this email address");
  expect(mail.messages.filter(({ to }) => to.includes("team@customer.test"))).toHaveLength(5);
});

test.each(["group:a@b;", "mailto:a@b", "a@b;", "a%c@b", "Ann <a@b>", "https:good.test"])(
  "the address %j is rejected for operator events, and as an owner's email",
  async (address) => {
    const { id } = await push.workspaces.make();
    await expectRejected(setAddress(id, address), code.INVALID_ARGUMENT, "address: ");
    await expectRejected(
      push.workspaces.update(id, { ownerEmail: address }),
      code.INVALID_ARGUMENT,
      "owner_email must be an email address",
    );
  },
);
