import { promises as dns } from "node:dns";
import { createCoreClient } from "../../edge/lane/core-client";
import { readMetrics } from "../harness/metrics";
import { freePort, startCore, TOKENS } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { until } from "../harness/wait";

/** The addresses of the name `core.test`; undefined if the name server fails. */
let addresses: readonly string[] | undefined = ["127.0.0.1"];
const lookup = jest.spyOn(dns, "lookup").mockImplementation((async () => {
  if (addresses === undefined) throw new Error("the name server fails");
  return addresses.map((address) => ({ address, family: 4 }));
}) as unknown as typeof dns.lookup);

/** An id that does not belong to any workspace. */
const WORKSPACE = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";

function connect(port: number, renewEveryMs?: number) {
  const client = createCoreClient({
    address: `dns:///core.test:${port}`,
    token: TOKENS.edge,
    tls: undefined,
    onRefused: jest.fn(),
    ...(renewEveryMs !== undefined && { renewEveryMs }),
  });
  const call = () =>
    client.poll({
      workspaceId: WORKSPACE,
      sourceAddress: "127.0.0.1",
      signature: undefined,
      queryString: "",
      reading: { $case: "query", value: { limit: 1, from: undefined } },
    });
  return { client, call };
}

beforeEach(() => {
  addresses = ["127.0.0.1"];
});

test("an edge starts to use a core that is added to DNS, and no call fails when the first core is removed from DNS and stops", async () => {
  const redis = await startTestRedis();
  const port = await freePort();
  const first = await startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${port}` });
  const { client, call } = connect(port, 100);
  let second: typeof first | undefined;
  try {
    expect((await call()).outcome?.$case).toBe("refused");
    second = await startCore(redis.url, { CORE_LISTEN: `127.0.0.2:${port}` });
    addresses = ["127.0.0.1", "127.0.0.2"];
    const added = second;
    await until("the added core has lanes", async () => {
      await call();
      return ((await readMetrics(added)).get("chatbridge_core_lanes")?.values.get("") ?? 0) > 0;
    });
    addresses = ["127.0.0.2"];
    let isStopped = false;
    const stopped = first.stop().finally(() => (isStopped = true));
    await until("the first core has stopped", async () => {
      await call();
      return isStopped;
    });
    expect(await stopped).toBe(0);
    await call();
    expect(Object.values(client.load.failures).every((count) => count === 0)).toBe(true);
    // While name servers fail, the client keeps its connections.
    addresses = undefined;
    const lookups = lookup.mock.calls.length;
    await until("the name was looked up several times", async () => {
      await call();
      return lookup.mock.calls.length > lookups + 2;
    });
  } finally {
    client.close();
    await first.stop();
    await second?.stop();
    await redis.close();
  }
});

test("an edge stays ready, and no call fails, when its only core stops shortly after another core was added", async () => {
  const redis = await startTestRedis();
  const port = await freePort();
  const first = await startCore(redis.url, { CORE_LISTEN: `127.0.0.1:${port}` });
  const { client, call } = connect(port);
  let second: typeof first | undefined;
  try {
    await client.probe();
    // These calls open all lanes to the first core.
    for (let i = 0; i < 8; i++) await call();
    second = await startCore(redis.url, { CORE_LISTEN: `127.0.0.2:${port}` });
    const lookups = lookup.mock.calls.length;
    let isStopped = false;
    const stopped = first.stop().finally(() => (isStopped = true));
    const probes: Promise<void>[] = [];
    await until("the first core has stopped", async () => {
      probes.push(client.probe());
      await call();
      // The name server returns the added core only at the second lookup, which is at least a second after the first.
      if (lookup.mock.calls.length > lookups) addresses = ["127.0.0.1", "127.0.0.2"];
      return isStopped;
    });
    expect(await stopped).toBe(0);
    await Promise.all(probes);
    await client.probe();
    await call();
    expect(Object.values(client.load.failures).every((count) => count === 0)).toBe(true);
  } finally {
    client.close();
    await first.stop();
    await second?.stop();
    await redis.close();
  }
});
