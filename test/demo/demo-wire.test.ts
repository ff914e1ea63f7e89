import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectTls } from "node:tls";
import { connect } from "node:net";
import type { Exchange } from "../../demo/chat/shapes";
import { listenForPushes, PUSH_PATH } from "../../demo/chat/wire/push-listener";
import { startTap } from "../../demo/chat/wire/tap";
import { createWireLog } from "../../demo/chat/wire/wire-log";
import { makeCertificate } from "../../deploy/local/certificate";
import { testFolder } from "../harness/folder";
import { exchange, rawRequest } from "../harness/raw-http";
import { startSilentServer } from "../harness/silent-server";

const folder = testFolder();

function recordedWire() {
  const exchanges: Exchange[] = [];
  const wire = createWireLog((event) => void (event.type === "exchange" && exchanges.push(event.exchange)));
  return { wire, exchanges };
}

// time: smoke
test.each([
  ["a poll", "GET", ""],
  ["a report", "POST", '{"type":"command"}'],
])("a network cut closes the connection of %s without an answer", async (_what, method, body) => {
  const service = await startSilentServer();
  const { wire, exchanges } = recordedWire();
  const tap = await startTap(`http://127.0.0.1:${service.port}`, wire);
  const request = rawRequest(method, "/hooks/w", { "content-type": "application/json" }, body);
  const inFlight = exchange(tap.baseUrl, request);
  await service.connected;
  tap.setCut(true);
  expect((await inFlight).answers).toEqual([]);
  expect((await exchange(tap.baseUrl, request)).answers).toEqual([]);
  expect(exchanges.map(({ failure }) => failure)).toEqual(["the network is cut", "the network is cut"]);
  await tap.close();
  service.close();
});

// time: smoke
test("if a request's body stalls, the listener for pushes and the recording proxy answer 408 and close the connection", async () => {
  const { certPath = "", keyPath = "" } = (await makeCertificate(folder, "127.0.0.1")) ?? {};
  const { wire, exchanges } = recordedWire();
  const receive = () => Promise.reject(new Error("the push is not complete"));
  const push = await listenForPushes({
    push: {
      listen: { host: "127.0.0.1", port: 0 },
      tls: { cert: readFileSync(certPath), key: readFileSync(keyPath) },
      targetUrl: undefined,
      isObserved: false,
    },
    receiver: { receive },
    observe: undefined,
    wire,
  });
  const tap = await startTap("http://127.0.0.1:9", wire);
  const stalled = [
    connectTls({ host: "127.0.0.1", port: push.port, rejectUnauthorized: false }),
    connect({ host: "127.0.0.1", port: Number(new URL(tap.baseUrl).port) }),
  ];
  const statuses = stalled.map(async (socket) => {
    const received: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.write(`POST ${PUSH_PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{`);
    await once(socket, "close");
    return Buffer.concat(received).toString("latin1").split("\r\n")[0];
  });
  expect(await Promise.all(statuses)).toEqual(Array(2).fill("HTTP/1.1 408 Request Timeout"));
  expect(exchanges).toEqual([]);
  await Promise.all([push.close(), tap.close()]);
});
