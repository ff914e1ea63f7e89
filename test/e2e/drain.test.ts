import { credentials, Metadata } from "@grpc/grpc-js";
import {
  HealthCheckRequest,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthClient,
} from "../../proto/gen/grpc/health/v1/health";
import { poll, signatureOf } from "../harness/bridge";
import { startConsumer, type } from "../harness/consumer";
import { connectToCore } from "../harness/core-clients";
import { notReady, probe, READY } from "../harness/probe";
import { startCore, startEdge, type TestProcess } from "../harness/processes";
import { exchange, rawRequest } from "../harness/raw-http";
import { publish, startService, textEvent, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

/** A drain that lasts longer than any test, so each test ends the drain with a second signal. */
const LONG_DRAIN = { DRAIN_SECONDS: "60" };

let service: TestService;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
  workspace = await service.workspaces.make();
});
afterAll(() => service.close());

const urlOf = ({ port }: TestProcess): string => `http://127.0.0.1:${port}`;
const pollRequest = (): Buffer =>
  rawRequest("GET", `/hooks/${workspace.id}/events`, {
    "Service-Signature": signatureOf(workspace.secret, ""),
  });

/** Sends SIGTERM, and waits until the process has begun to drain. */
async function drain(process: TestProcess): Promise<void> {
  process.child.kill("SIGTERM");
  await until("the process drains", () => process.log.some(({ msg }) => msg === "draining"));
}

test("a draining edge is not ready, answers requests on old and new connections, and closes each connection after the answer", async () => {
  const edge = await startEdge(service.core.port, LONG_DRAIN);
  try {
    const { answers } = await exchange(urlOf(edge), (socket) => {
      socket.write(pollRequest());
      socket.once("data", () => void drain(edge).then(() => socket.write(pollRequest())));
    });
    expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([
      [200, "keep-alive"],
      [200, "close"],
    ]);
    expect(await probe(edge, "/ready")).toEqual(notReady("stopping"));
    expect((await exchange(urlOf(edge), pollRequest())).answers.map(({ status }) => status)).toEqual([200]);
    expect((await poll(urlOf(edge), workspace)).headers["connection"]).toBe("close");
    expect(await edge.stop()).toBe(0);
  } finally {
    await edge.stop("SIGKILL");
  }
});

test("a draining core is not ready, accepts calls on new connections, and delivers events to open streams", async () => {
  const core = await startCore(service.redis.url, LONG_DRAIN);
  const edge = await startEdge(core.port);
  const [own, late] = [connectToCore(core.port), connectToCore(core.port)];
  const health = new HealthClient(`127.0.0.1:${core.port}`, credentials.createInsecure());
  const check = () =>
    new Promise<string>((resolve, reject) =>
      health.check(HealthCheckRequest.create(), new Metadata(), (error, response) =>
        error === null ? resolve(ServingStatus[response.status]) : reject(error),
      ),
    );
  const consumer = await startConsumer(own.games, { group: "drained" }).opened();
  try {
    expect([await probe(core, "/ready"), await check()]).toEqual([READY, "SERVING"]);
    await drain(core);
    expect([await probe(core, "/ready"), await check()]).toEqual([notReady("stopping"), "NOT_SERVING"]);
    expect((await publish(late, textEvent(workspace.id, "still here")))[0]?.outcome?.$case).toBe("published");
    expect(await type(urlOf(edge), workspace, "still there")).toBe(true);
    await consumer.sees(1);
    expect(await core.stop("SIGINT")).toBe(0);
  } finally {
    consumer.cancel();
    for (const client of [own, late, health]) client.close();
    await edge.stop();
    await core.stop("SIGKILL");
  }
});
