import { dripBody, status } from "./behaviours";
import type { Welcome } from "./front-door";
import { freePort } from "./processes";
import { startReceiver, type Receiver, type ReceiverOptions } from "./receiver";
import { createTestCa, type Certificate, type TestCa } from "./test-ca";
import { createTestClient, type TestClient } from "./test-client";
import { until } from "./wait";

const NAME = "bridge.example";

let ca: TestCa;
let receiver: Receiver;
let client: TestClient;
beforeAll(() => {
  ca = createTestCa();
});
afterAll(() => ca.close());
beforeEach(() => startAgain({ ca, names: [NAME] }));
afterEach(async () => {
  await client.close();
  await receiver.close();
});

async function startAgain(options: ReceiverOptions): Promise<void> {
  await receiver?.close();
  receiver = await startReceiver(options);
  await useNewClient();
}

async function useNewClient(connectTimeoutMs?: number): Promise<void> {
  await client?.close();
  client = createTestClient(ca.cert, connectTimeoutMs);
}

describe("a receiver records", () => {
  test("the exact bytes, headers, name asked for and arrival of a request", async () => {
    const body = Buffer.from([0x7b, 0xff, 0x00, 0x7d]);
    const before = performance.now();
    const { statusCode } = await client.post(receiver.url, { body, headers: { "X-Mark": "here" } });
    expect(statusCode).toBe(204);
    const got = await receiver.nth(1);
    expect(got).toMatchObject({
      method: "POST",
      path: "/events",
      servername: NAME,
      connection: 1,
      attempt: 1,
    });
    expect(got.body.equals(body)).toBe(true);
    expect(got.headers["x-mark"]).toBe("here");
    expect(got.rawHeaders).toContain("X-Mark");
    expect(got.at).toBeGreaterThanOrEqual(before);
    expect(got.at).toBeLessThanOrEqual(performance.now());
    expect(Math.abs(got.atEpochMs - Date.now())).toBeLessThan(10_000);
  });

  test("which requests came on one connection, and when connections end", async () => {
    for (let i = 0; i < 2; i++) await client.observe(receiver.url);
    expect(receiver.requests.map(({ connection }) => connection)).toEqual([1, 1]);
    expect(receiver.connections).toMatchObject([{ number: 1, from: "127.0.0.1", servername: NAME }]);
    expect(receiver.connections[0]?.closedAt).toBeUndefined();
    await useNewClient();
    await until("the connection to be closed", () => receiver.connections[0]?.closedAt !== undefined);
    await client.observe(receiver.url);
    expect(receiver.requests.at(-1)?.connection).toBe(2);
  });

  test("the attempts of each event id, so that the first of each can be failed", async () => {
    receiver.behave(({ attempt }) => status(attempt === 1 ? 503 : 200));
    const codes = [];
    for (const id of ["evt_a", "evt_b", "evt_a", "evt_b"]) {
      codes.push((await client.observe(receiver.url, { headers: { "Service-Event-Id": id } })).status);
    }
    expect(codes).toEqual([503, 503, 200, 200]);
    expect((await receiver.waitFor(4)).map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2]);
  });

  test("nothing that did not come: waiting for more fails", async () => {
    await client.post(receiver.url);
    await expect(receiver.waitFor(2, 50)).rejects.toThrow("2 requests");
  });
});

describe("a receiver welcomes a connection", () => {
  test.each<[Welcome, RegExp]>([
    ["silence", /^UND_ERR_CONNECT_TIMEOUT$/],
    ["reset", /^ECONNRESET$/],
    ["close", /^(ECONNRESET|UND_ERR_SOCKET)$/],
    ["garbage", /^ERR_SSL_/],
  ])("with %s", async (welcome, end) => {
    receiver.welcome(welcome);
    await useNewClient(welcome === "silence" ? 200 : 10_000);
    expect((await client.observe(receiver.url)).end).toMatch(end);
    expect(receiver.requests).toHaveLength(0);
    await until("the client to leave", () => receiver.connections[0]?.closedAt !== undefined);
  });

  test("by its number: every second one is reset", async () => {
    receiver.welcome((number) => (number % 2 === 0 ? "reset" : "serve"));
    const ends = [];
    for (let i = 0; i < 4; i++) {
      ends.push((await client.observe(receiver.url)).end);
      await useNewClient();
    }
    expect(ends).toEqual(["whole", "ECONNRESET", "whole", "ECONNRESET"]);
  });

  test("and ends it when it was idle for so long", async () => {
    await startAgain({ ca, names: [NAME], keepAliveMs: 50 });
    expect(await client.observe(receiver.url)).toMatchObject({ status: 204 });
    await until("the connection to be closed", () => receiver.connections[0]?.closedAt !== undefined);
  });
});

describe("a client that trusts the CA", () => {
  test.each<[string, () => Certificate, string]>([
    ["an expired certificate", () => ca.issueExpired([NAME]), "CERT_HAS_EXPIRED"],
    ["one for another name", () => ca.issueForWrongName(), "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["one that is self-signed", () => ca.selfSigned([NAME]), "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ])("refuses %s", async (_title, certificate, code) => {
    await startAgain({ names: [NAME], certificate: certificate() });
    expect(await client.observe(receiver.url)).toEqual({ end: code });
    expect(receiver.requests).toHaveLength(0);
  });

  test("refuses one of an unknown CA", async () => {
    const unknown = createTestCa();
    await startAgain({ ca: unknown, names: [NAME] });
    unknown.close();
    expect(await client.observe(receiver.url)).toEqual({ end: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  });

  test("refuses TLS that is too old", async () => {
    await startAgain({ ca, names: [NAME], tls: { minVersion: "TLSv1", maxVersion: "TLSv1.1" } });
    expect((await client.observe(receiver.url)).end).toMatch(/^ERR_SSL_/);
    expect(receiver.requests).toHaveLength(0);
  });

  test("accepts one for an IP address", async () => {
    await startAgain({ ca, host: "127.0.0.2" });
    expect(receiver.url).toBe(`https://127.0.0.2:${receiver.port}/events`);
    expect(await client.observe(receiver.url)).toMatchObject({ status: 204 });
    expect(receiver.requests[0]?.servername).toBeUndefined();
  });
});

describe("a receiver closes", () => {
  test("at once, in the middle of everything, and leaves nothing open", async () => {
    const handles = () =>
      process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|Timeout/.test(kind)).length;
    const before = handles();
    receiver.behave(({ connection }) =>
      connection % 2 === 0 ? dripBody(1000) : status(200, { afterMs: 60_000 }),
    );
    receiver.welcome((number) => (number % 3 === 0 ? "silence" : "serve"));
    const clients = Array.from({ length: 6 }, () => createTestClient(ca.cert));
    const ends = clients.map((each) => each.observe(receiver.url));
    await receiver.waitFor(4);
    await until("six connections", () => receiver.connections.length === 6);
    expect(handles()).toBeGreaterThan(before);
    await receiver.close();
    for (const { end } of await Promise.all(ends)) expect(end).not.toBe("whole");
    await Promise.all(clients.map((each) => each.close()));
    // The receiver itself was among those that were there before.
    await until("all handles to be gone", () => handles() < before);
  });

  test("twice without harm, and another comes back at the same port", async () => {
    // One that the system gives to no connection while nobody listens there.
    const port = await freePort();
    await startAgain({ ca, names: [NAME], port });
    expect(await client.observe(receiver.url)).toMatchObject({ status: 204 });
    await receiver.close();
    await receiver.close();
    expect((await client.observe(receiver.url)).end).toMatch(
      /^(ECONNREFUSED|UND_ERR_SOCKET|ECONNRESET|EPIPE)$/,
    );
    await startAgain({ ca, names: [NAME], port });
    expect(await client.observe(receiver.url)).toMatchObject({ status: 204 });
  });
});

test("a receiver without a certificate speaks plain HTTP", async () => {
  await startAgain({});
  expect(receiver.url).toBe(`http://127.0.0.1:${receiver.port}/events`);
  expect(await client.observe(receiver.url)).toMatchObject({ status: 204 });
});
