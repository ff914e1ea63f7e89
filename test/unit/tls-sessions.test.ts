import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createSecureContext } from "node:tls";
import ipaddr from "ipaddr.js";
import { openConnection, type PushConnectionOptions } from "../../core/delivery/open-connection";
import { createPushClient } from "../../core/delivery/push-client";
import { createTlsSessions, type TlsSessions } from "../../core/delivery/tls-sessions";
import { startReceiver, type Receiver, type ReceiverOptions } from "../harness/receiver";
import { createTestCa } from "../harness/test-ca";

const NAMES = ["a.bridge.test", "b.bridge.test", "c.bridge.test"] as const;
const [A, B, C] = NAMES;
const HOUR_MS = 3_600_000;

const ca = createTestCa();
const certificate = ca.issue(["*.bridge.test"]);
const receivers: Receiver[] = [];
/** Starts a bridge. Bridges with the same ticket keys accept each other's sessions. */
async function bridge(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver({ certificate, names: NAMES, ...options });
  receivers.push(receiver);
  return receiver;
}
/** The addresses to which every name resolves. At the start of each test, the only address is 127.0.0.1. */
let addresses = ["127.0.0.1"];
const options = (sessions?: TlsSessions): PushConnectionOptions => ({
  names: { addresses: async () => addresses },
  allow: [ipaddr.parseCIDR("127.0.0.0/8")],
  secureContext: () => createSecureContext({ ca: ca.cert }),
  ...(sessions === undefined ? {} : { sessions }),
});
/** Connects, waits for one answer, and disconnects; returns whether the connection resumed a session. */
async function connect(sessions: TlsSessions, receiver: Receiver, name: string = A): Promise<boolean> {
  const socket = await openConnection(options(sessions), new URL(receiver.urlOf(name)), 5_000);
  // A bridge sends its session tickets before its first answer.
  socket.write(`POST / HTTP/1.1\r\nHost: ${name}\r\nContent-Length: 0\r\n\r\n`);
  await once(socket, "data");
  const isResumed = socket.isSessionReused();
  socket.destroy();
  return isResumed;
}

afterEach(async () => {
  jest.restoreAllMocks();
  addresses = ["127.0.0.1"];
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});
afterAll(() => ca.close());

describe.each(["TLSv1.2", "TLSv1.3"] as const)("under %s", (maxVersion) => {
  const ticketKeys = randomBytes(48);
  const tls = { maxVersion, ticketKeys };

  test("a later connection to a bridge resumes the session of the previous connection", async () => {
    const [sessions, receiver] = [createTlsSessions(), await bridge({ tls })];
    const resumed = [];
    for (let i = 0; i < 3; i++) resumed.push(await connect(sessions, receiver));
    expect(resumed).toEqual([false, true, true]);
  });

  test("a session is resumed when the host's first address is unreachable and another address accepts the connection", async () => {
    const [sessions, receiver] = [createTlsSessions(), await bridge({ tls })];
    addresses = ["127.0.0.77", "127.0.0.1"];
    expect([await connect(sessions, receiver), await connect(sessions, receiver)]).toEqual([false, true]);
  });

  test("a session is not used for another name, port or address, even if the bridge would accept it", async () => {
    const [sessions, receiver] = [createTlsSessions(), await bridge({ tls })];
    const { port } = receiver;
    const [otherPort, otherAddress] = [await bridge({ tls }), await bridge({ tls, port, host: "127.0.0.2" })];
    expect([await connect(sessions, receiver), await connect(sessions, receiver)]).toEqual([false, true]);
    expect(await connect(sessions, receiver, B)).toBe(false);
    expect(await connect(sessions, otherPort)).toBe(false);
    addresses = ["127.0.0.2"];
    expect(await connect(sessions, otherAddress)).toBe(false);
  });

  test("after a bridge has lost its ticket keys, the next handshake is a full handshake, and later connections resume the new session", async () => {
    const [sessions, before] = [createTlsSessions(), await bridge({ tls })];
    expect([await connect(sessions, before), await connect(sessions, before)]).toEqual([false, true]);
    const { port } = before;
    await before.close();
    const after = await bridge({ tls: { maxVersion }, port });
    expect([await connect(sessions, after), await connect(sessions, after)]).toEqual([false, true]);
  });

  test("a session is not kept if the bridge's certificate is rejected, or if a later handshake that offers the session fails", async () => {
    const sessions = createTlsSessions();
    const wrong = await bridge({ tls, certificate: ca.issueForWrongName() });
    const { port } = wrong;
    for (let i = 0; i < 2; i++)
      await expect(connect(sessions, wrong)).rejects.toMatchObject({ failure: "tls" });
    await wrong.close();
    const right = await bridge({ tls, port });
    expect([await connect(sessions, right), await connect(sessions, right)]).toEqual([false, true]);
    right.welcome("close");
    await expect(connect(sessions, right)).rejects.toMatchObject({ failure: "tls" });
    right.welcome("serve");
    expect(await connect(sessions, right)).toBe(false);
  });

  // time: controlled
  test.each([
    ["an hour after its full handshake", HOUR_MS, 2 * HOUR_MS],
    ["when the bridge's certificate has expired", 60_000, 60_000],
  ])("a session is no longer used %s, even if the session was renewed", async (_when, lifeMs, validMs) => {
    const [sessions, receiver] = [createTlsSessions(), await bridge({ tls })];
    const expiresAt = Date.parse(new X509Certificate(certificate.cert).validTo);
    jest.spyOn(Date, "now").mockReturnValue(expiresAt - validMs);
    const clock = performance.now.bind(performance);
    let aheadMs = 0;
    jest.spyOn(performance, "now").mockImplementation(() => clock() + aheadMs);
    const resumed = [await connect(sessions, receiver)];
    for (const share of [0.6, 0.9, 1]) {
      aheadMs = share * lifeMs;
      resumed.push(await connect(sessions, receiver));
    }
    expect(resumed).toEqual([false, true, true, false]);
  });
});

test("if the sessions exceed the limit in bytes, the least recently used sessions are forgotten", async () => {
  const [sessions, receiver] = [createTlsSessions(3_000), await bridge()];
  const resumed = [];
  for (const name of [A, B, A, C, A, B]) resumed.push(await connect(sessions, receiver, name));
  expect(resumed).toEqual([false, false, true, false, true, false]);
});

test("a session of more than 16 KB is not kept", async () => {
  // A session contains the certificate of the bridge.
  const many = Array.from({ length: 500 }, (_, i) => `${"x".repeat(40)}${i}.bridge.test`);
  const [sessions, receiver] = [createTlsSessions(), await bridge({ certificate: ca.issue([A, ...many]) })];
  expect([await connect(sessions, receiver), await connect(sessions, receiver)]).toEqual([false, false]);
});

test("pushes resume sessions; the push of a test event does a full handshake", async () => {
  const client = createPushClient(options());
  const receiver = await bridge();
  receiver.behave({ answer: ({ response }) => response.writeHead(204, { Connection: "close" }).end() });
  const event = { eventId: "evt_1", workspaceId: "w", envelope: Buffer.from("{}") };
  const attempt = { ...event, url: new URL(receiver.urlOf(A)), signature: "t=0,v1=00" };
  for (let i = 0; i < 2; i++) expect(await client.push(attempt)).toMatchObject({ ok: true });
  expect(await client.trace(attempt, () => undefined)).toMatchObject({ ok: true });
  expect(await client.push(attempt)).toMatchObject({ ok: true });
  expect(receiver.requests.map(({ isResumed }) => isResumed)).toEqual([false, true, false, true]);
  await client.close();
});
