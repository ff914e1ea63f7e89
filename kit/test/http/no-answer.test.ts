import { createServer as createHttp2Server } from "node:http2";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connectionFault } from "../../connection-fault";
import { createPoll } from "../../poll";
import { createSender } from "../../sender";
import { closeWithoutAnswer, flood, sayNothing } from "../../../test/harness/behaviours";
import { freePort } from "../../../test/harness/processes";
import { startReceiver } from "../../../test/harness/receiver";
import { WORKSPACE } from "../../../test/harness/sample-events";
import { createTestCa } from "../../../test/harness/test-ca";
import { makeBridge, stopBridges } from "../harness/bridge-chat";
import { skipTime } from "../harness/skipped-time";

const SECRET = "never-shown-secret";
const TEXT = "never-shown-text";
const { signal } = new AbortController();

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await stopBridges();
  for (const close of closing.splice(0)) await close();
});

async function receiver(options: Parameters<typeof startReceiver>[0] = {}) {
  const started = await startReceiver(options);
  closing.push(started.close);
  return started;
}

async function grpcPort(): Promise<number> {
  const server = createHttp2Server().listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

test.each([
  ["a port at which nothing listens", closedPort, /connect ECONNREFUSED 127.*no program listens there/],
  [
    // If the machine has no network, the DNS server does not answer, and the error differs.
    "an unknown host",
    async () => "http://games.invalid",
    /ENOTFOUND games.invalid .*host name is unknown|EAI_AGAIN games.invalid .*DNS server does not answer/,
  ],
  [
    "https for a server without TLS",
    async () => `https://127.0.0.1:${(await receiver()).port}`,
    /there is no TLS at this port/,
  ],
  [
    "a certificate of an unknown authority",
    async () => {
      const ca = createTestCa();
      const certificate = ca.issue(["127.0.0.1"]);
      ca.close();
      return `https://127.0.0.1:${(await receiver({ certificate })).port}`;
    },
    /certificate.*NODE_EXTRA_CA_CERTS/,
  ],
  [
    "a gRPC port",
    async () => `http://127.0.0.1:${await grpcPort()}`,
    /there is no HTTP\/1.1 server at this port/,
  ],
  [
    "a port that fetch blocks",
    async () => "http://127.0.0.1:9",
    /bad port \(fetch blocks this port: choose a different port\)/,
  ],
  [
    "a server that closes the connection",
    async () => {
      const server = await receiver();
      server.behave(closeWithoutAnswer());
      return `http://127.0.0.1:${server.port}`;
    },
    /other side closed.*https/,
  ],
  [
    "an answer that is too long",
    async () => {
      const server = await receiver();
      server.behave(flood());
      return `http://127.0.0.1:${server.port}`;
    },
    /the answer is longer than \d+ bytes/,
  ],
])("the sender and the poller say why there was no answer: %s", async (_what, start, words) => {
  const options = { baseUrl: await start(), workspaceId: WORKSPACE, secrets: SECRET };
  const polled = await createPoll(options)("7", signal);
  expect(polled).toMatchObject({ problem: expect.stringMatching(/^the poll got no answer: the /) });
  expect(polled).toMatchObject({ problem: expect.stringMatching(words) });
  const sender = createSender({ ...options, attemptsMax: 1 });
  const sent = await sender.send({ type: "command", channel: "c1", user: { id: "u1" }, text: TEXT });
  expect(sent).toMatchObject({
    outcome: "given-up",
    reason: "connection",
    message: expect.stringMatching(words),
  });
  expect(JSON.stringify([polled, sent])).not.toMatch(/never-shown|v1=/);
});

test("the report of a timeout gives the duration", async () => {
  const service = await receiver();
  service.behave(sayNothing());
  const options = { baseUrl: `http://127.0.0.1:${service.port}`, workspaceId: WORKSPACE, secrets: SECRET };
  const polled = await createPoll({ ...options, timeoutMs: 50 })(undefined, signal);
  expect(polled).toMatchObject({
    problem: "the poll got no answer: timeout: there was no answer within 0.05 seconds",
  });
  const sender = createSender({ ...options, timeoutMs: 50, attemptsMax: 1 });
  const sent = await sender.send({ type: "command", channel: "c1", user: { id: "u1" }, text: TEXT });
  expect(sent).toMatchObject({
    reason: "timeout",
    message: "timeout: there was no answer within 0.05 seconds",
  });
});

test("a bridge reports why an event was dropped, and why it has no connection", async () => {
  const baseUrl = await closedPort();
  const options = { baseUrl, workspaceId: WORKSPACE, secrets: SECRET, timing: skipTime() };
  const { bridge, problems } = makeBridge(options);
  await bridge.command({ channel: "c1", user: "u1", text: TEXT });
  expect(problems).toEqual([
    expect.stringMatching(/^a command was dropped after \d attempts: .*ECONNREFUSED/),
  ]);
  expect(problems.join()).not.toMatch(/never-shown/);
});

test("if each address of a host fails, the reason names each address", () => {
  const tries = [new Error("connect ECONNREFUSED ::1:81"), new Error("connect ECONNREFUSED 127.0.0.1:81")];
  const cause = Object.assign(new AggregateError(tries), { code: "ECONNREFUSED" });
  expect(connectionFault(new TypeError("fetch failed", { cause }))).toMatch(
    /^the connection failed: connect ECONNREFUSED ::1:81, connect ECONNREFUSED 127.0.0.1:81 \(no program/,
  );
});

test("a connection error without a message is reported with an unknown reason", () => {
  for (const error of [undefined, "text", new Error("")])
    expect(connectionFault(error)).toBe("the connection failed: unknown reason");
});
