import { networkInterfaces } from "node:os";
import { HEADERS_MAX_BYTES } from "../../contract/numbers";
import { connectRedis } from "../../core/store/redis/redis";
import { dashboardUrlOf } from "../harness/dashboard";
import { examine, HEALTHY_CORE, HEALTHY_REDIS, STRONG_TOKENS } from "../harness/doctor";
import { freePort, startCore, startEdge } from "../harness/processes";
import { startService, type TestService } from "../harness/service";
import { startSilentServer } from "../harness/silent-server";
import { createTestCa, type TestCa } from "../harness/test-ca";
import { startWebProxy, type WebProxyOptions } from "../harness/web-proxy";

const LOOPBACK = ["127.0.0.1"];

let service: TestService;
let ca: TestCa;
let core: string;

beforeAll(async () => {
  ca = createTestCa();
  service = await startService({
    core: HEALTHY_CORE,
    edge: { CORE_TOKEN: STRONG_TOKENS.edge, DASHBOARD_LISTEN: "127.0.0.1:0", TRUST_PROXY: "127.0.0.1" },
    redis: HEALTHY_REDIS,
  });
  core = `127.0.0.1:${service.core.port}`;
  const redis = await connectRedis({ url: service.redis.url, onError: () => undefined });
  await redis.command("", ["SET", "cb:backup", String(Math.floor(Date.now() / 1_000))]);
  await redis.close();
});
afterAll(async () => {
  await service.close();
  ca.close();
});

/** Runs the doctor against a proxy in front of the edge. */
async function throughProxy(options: WebProxyOptions, args: readonly string[] = ["--ca", ca.certPath]) {
  const proxy = await startWebProxy({ to: service.edge.port, ...options });
  try {
    return await examine(core, ["--url", proxy.url, ...args]);
  } finally {
    proxy.close();
  }
}

/** Runs the doctor against a proxy in front of the dashboard. */
async function dashboardThroughProxy(options: WebProxyOptions) {
  const to = Number(new URL(dashboardUrlOf(service.edge)).port);
  const proxy = await startWebProxy({ certificate: ca.issue(LOOPBACK), to, ...options });
  try {
    return await examine(core, ["--dashboard", proxy.url, "--ca", ca.certPath]);
  } finally {
    proxy.close();
  }
}

test("the doctor finds no fault in a healthy installation behind proxies with TLS", async () => {
  const edge = await throughProxy({ certificate: ca.issue(LOOPBACK) });
  expect(edge.faults).toEqual([]);
  expect(edge.of("edge-certificate")).toMatchObject({ result: "ok" });
  const dashboard = await dashboardThroughProxy({});
  expect(dashboard.faults).toEqual([]);
  expect(dashboard.of("dashboard-cookie")).toMatchObject({ result: "ok" });
});

describe("the address for bridges:", () => {
  const status = (code: number, headers: Readonly<Record<string, string>> = {}): WebProxyOptions => ({
    answer: (_request, response) => {
      response.writeHead(code, headers).end("<html>");
      return true;
    },
  });

  test.each<[string, WebProxyOptions, RegExp]>([
    ["answers 502 by itself", { to: 1 }, /the proxy .* answers 502 by itself \(test-proxy\)/],
    ["is another web server", status(404, { server: "nginx" }), /something other .*: 404 \(nginx\)/],
    ["requires a sign-in", status(401), /something other than an edge answers .*: 401/],
    [
      "redirects",
      status(301, { location: "https://www.example/" }),
      /redirect \(301 to https:\/\/www\.example\/\)/,
    ],
  ])("the doctor reports a fault if the server at the address %s", async (_what, options, words) => {
    const { names, of } = await throughProxy(options);
    expect(names).toEqual(["fail edge"]);
    expect(of("edge")?.says).toMatch(words);
    expect(of("edge-sizes")).toMatchObject({ result: "skipped" });
  });

  test("the doctor reports a fault if nothing listens at the address", async () => {
    const { names, of } = await examine(core, ["--url", `http://127.0.0.1:${await freePort()}`]);
    expect(names).toEqual(["fail edge"]);
    expect(of("edge")?.says).toMatch(/does not answer: .*ECONNREFUSED/);
  });

  test("the doctor reports a fault if the host's name does not exist", async () => {
    const { names, of } = await examine(core, ["--url", "https://hooks.invalid"]);
    expect(names).toEqual(["fail edge"]);
    expect(of("edge")?.says).toMatch(/the name hooks\.invalid cannot be looked up/);
  });

  test("the doctor reports a fault if the server accepts connections but never answers", async () => {
    const silent = await startSilentServer();
    try {
      const { names, of } = await examine(core, ["--url", `http://127.0.0.1:${silent.port}`]);
      expect(names).toEqual(["fail edge"]);
      expect(of("edge")?.says).toMatch(/no answer within 5 seconds/);
    } finally {
      silent.close();
    }
  });

  test("the doctor reports a fault if the edge cannot reach any core", async () => {
    const edge = await startEdge(await freePort(), {}, "listening");
    try {
      const { names, of } = await examine(core, ["--url", `http://127.0.0.1:${edge.port}`]);
      expect(names).toEqual(["fail edge"]);
      expect(of("edge")?.says).toMatch(/answers 503: the edge reaches no core/);
    } finally {
      await edge.stop();
    }
  });

  test.each<[string, () => WebProxyOptions, readonly string[], RegExp]>([
    [
      "has expired",
      () => ({ certificate: ca.issueExpired(LOOPBACK) }),
      ["trusted"],
      /has expired \(on \d{4}-/,
    ],
    [
      "is for another name",
      () => ({ certificate: ca.issueForWrongName() }),
      ["trusted"],
      /is for other names \(DNS:somebody-else\.example\)/,
    ],
    ["is not trusted", () => ({ certificate: ca.issue(LOOPBACK) }), [], /UNABLE|without the certificate/i],
    [
      "issued itself",
      () => ({ certificate: ca.selfSigned(LOOPBACK) }),
      ["trusted"],
      /DEPTH_ZERO_SELF_SIGNED/,
    ],
  ])("the doctor reports a fault if the edge's certificate %s", async (_what, options, trusted, words) => {
    const { names, of } = await throughProxy(options(), trusted.length > 0 ? ["--ca", ca.certPath] : []);
    expect(names).toEqual(["fail edge-certificate"]);
    expect(of("edge-certificate")?.says).toMatch(words);
    expect(of("edge")).toMatchObject({ result: "ok" });
  });

  test("the doctor reports a fault if a proxy rejects a request of a size that the contract allows", async () => {
    const { names, of } = await throughProxy({
      certificate: ca.issue(LOOPBACK),
      answer: ({ headers }, response) => {
        const isLarge = JSON.stringify(headers).length > HEADERS_MAX_BYTES / 2;
        if (isLarge) response.writeHead(400, { server: "small-proxy" }).end();
        return isLarge;
      },
    });
    expect(names).toEqual(["fail edge-sizes"]);
    expect(of("edge-sizes")?.says).toMatch(/answers 400 \(small-proxy\) to a body of 64 KB/);
  });

  test.each([
    [30_000, "warn edge-clock", /is (?:2\d|30) seconds ahead/],
    [-400_000, "fail edge-clock", /is (?:3\d\d|400) seconds behind/],
  ])("the doctor reports a fault if the edge's clock is off by %d ms", async (offMs, name, words) => {
    const { names, of } = await throughProxy({
      certificate: ca.issue(LOOPBACK),
      answer: (_request, response) => {
        response.sendDate = false;
        const body = JSON.stringify({
          statusCode: 404,
          message: "no such path or workspace",
          error: "Not Found",
        });
        response.writeHead(404, { date: new Date(Date.now() + offMs).toUTCString() }).end(body);
        return true;
      },
    });
    expect(names).toEqual([name]);
    expect(of("edge-clock")?.says).toMatch(words);
  });
});

/** An address of this machine that other machines can reach. */
const outer = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

// The doctor cannot check the client's address over loopback, so these tests need another address.
(outer === undefined ? describe.skip : describe)("the client's address:", () => {
  const host = outer ?? "";

  /** Runs the doctor against a proxy at `outer`, in front of an edge with these settings. */
  async function throughOuter(options: WebProxyOptions, environment: Readonly<Record<string, string>>) {
    const edge = await startEdge(service.core.port, { CORE_TOKEN: STRONG_TOKENS.edge, ...environment });
    try {
      return await throughProxy({ certificate: ca.issue([host]), host, to: edge.port, ...options });
    } finally {
      await edge.stop();
    }
  }

  test("the doctor finds no fault if a correct proxy tells the edge the client's address", async () => {
    const { faults, of } = await throughOuter({}, { TRUST_PROXY: "127.0.0.1" });
    expect(faults).toEqual([]);
    expect(of("edge-address")?.says).toBe(`an edge sees the address of its client: ${host}`);
  });

  test("the doctor reports a fault if the edge does not see the client's address, because TRUST_PROXY is missing", async () => {
    const { names, of } = await throughOuter({}, {});
    expect(names).toEqual(["fail edge-address"]);
    expect(of("edge-address")?.says).toMatch(/takes 127\.0\.0\.1, the address of a proxy/);
  });

  test("the doctor reports a fault if a client can forge its address", async () => {
    const { names, of } = await throughOuter({ forwarded: () => ({}) }, { TRUST_PROXY: "127.0.0.1" });
    expect(names).toEqual([expect.stringMatching(/^(?:warn|fail) edge-address$/)]);
    expect(of("edge-address")?.says).toMatch(/believes an address that the client writes/);
  });
});

describe("the dashboard:", () => {
  test("the doctor reports a fault if the dashboard's cookie is not restricted to https", async () => {
    const { names, of } = await dashboardThroughProxy({ forwarded: () => ({}) });
    expect(names).toEqual(["fail dashboard-cookie"]);
    expect(of("dashboard-cookie")?.fix).toMatch(/TRUST_PROXY.*X-Forwarded-Proto/);
  });

  test("the doctor reports a fault if something else answers at the dashboard's address", async () => {
    const { names, of } = await dashboardThroughProxy({ to: service.edge.port });
    expect(names).toEqual(["fail dashboard"]);
    expect(of("dashboard")?.says).toMatch(/something other than the dashboard answers .*: 404/);
  });

  test("the doctor does not send its token to the dashboard", async () => {
    const seen: string[] = [];
    await dashboardThroughProxy({
      answer: ({ headers }, response) => {
        seen.push(JSON.stringify(headers));
        response.writeHead(404).end();
        return true;
      },
    });
    expect(seen).not.toEqual([]);
    for (const headers of seen) expect(headers).not.toContain(STRONG_TOKENS.operator);
  });
});

describe("core with TLS:", () => {
  async function withTlsCore<T>(
    certPath: string,
    keyPath: string,
    use: (at: string) => Promise<T>,
  ): Promise<T> {
    const further = await startCore(service.redis.url, {
      ...HEALTHY_CORE,
      CORE_TLS_CERT: certPath,
      CORE_TLS_KEY: keyPath,
    });
    try {
      return await use(`127.0.0.1:${further.port}`);
    } finally {
      await further.stop();
    }
  }

  test("the doctor finds no fault if core's certificate is valid", async () => {
    const { certPath, keyPath } = ca.issue(LOOPBACK);
    const { faults, of } = await withTlsCore(certPath, keyPath, (at) =>
      examine(at, [], { CORE_TLS_CA: ca.certPath }),
    );
    expect(faults).toEqual([]);
    expect(of("core-certificate")).toMatchObject({ result: "ok" });
    expect(of("core-encryption")?.says).toMatch(/with TLS/);
  });

  test("the doctor names CORE_TLS_CA if core uses TLS and this setting is missing", async () => {
    const { certPath, keyPath } = ca.issue(LOOPBACK);
    const { faults, of } = await withTlsCore(certPath, keyPath, (at) => examine(at));
    expect(of("core")).toMatchObject({
      result: "fail",
      says: expect.stringMatching(/answers a TLS handshake/) as string,
      fix: expect.stringMatching(/CORE_TLS_CA/) as string,
    });
    expect(faults.every(({ check }) => check.startsWith("core"))).toBe(true);
  });

  test.each<[string, () => { certPath: string; keyPath: string }, RegExp]>([
    ["an expired certificate", () => ca.issueExpired(LOOPBACK), /has expired/],
    ["a certificate for another name", () => ca.issueForWrongName(), /is for other names/],
  ])("the doctor reports a fault if core has %s", async (_what, issue, words) => {
    const { certPath, keyPath } = issue();
    const { names, of } = await withTlsCore(certPath, keyPath, (at) =>
      examine(at, [], { CORE_TLS_CA: ca.certPath }),
    );
    expect(names).toEqual(["fail core", "fail core-certificate"]);
    expect(of("core-certificate")?.says).toMatch(words);
  });
});
