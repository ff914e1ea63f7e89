import { credentials, status, type ChannelCredentials, type ServiceError } from "@grpc/grpc-js";
import { ListWorkspacesRequest, WorkspaceServiceClient } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { startCore, startEdge, startProcess, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { bearer, createWorkspace, type CoreClients } from "../harness/service";
import { createTestCa, type Certificate, type TestCa } from "../harness/test-ca";
import { GameServiceClient } from "../../proto/gen/chatbridge/v1/game";

let redis: TestRedis;
let ca: TestCa;
let otherCa: TestCa;
let server: Certificate;
let client: Certificate;
let strangersClient: Certificate;

beforeAll(async () => {
  redis = await startTestRedis();
  ca = createTestCa();
  otherCa = createTestCa();
  server = ca.issue(["127.0.0.1"]);
  client = ca.issue(["edge.example"]);
  strangersClient = otherCa.issue(["edge.example"]);
});
afterAll(async () => {
  await redis.close();
  ca.close();
  otherCa.close();
});

/** The status of one call with an operator's token. */
async function tryCall(core: TestProcess, channel: ChannelCredentials): Promise<status> {
  const workspaces = new WorkspaceServiceClient(`127.0.0.1:${core.port}`, channel);
  const options = { deadline: Date.now() + 5_000 };
  try {
    return await new Promise((resolve) => {
      const done = (error: ServiceError | null): void => resolve(error?.code ?? status.OK);
      workspaces.listWorkspaces(ListWorkspacesRequest.create({}), bearer(TOKENS.operator), options, done);
    });
  } finally {
    workspaces.close();
  }
}

/** The status of an edge's poll for a workspace that is made through `channel`. */
async function pollThroughEdge(
  core: TestProcess,
  channel: ChannelCredentials,
  environment: Record<string, string>,
): Promise<number> {
  const address = `127.0.0.1:${core.port}`;
  const clients: CoreClients = {
    games: new GameServiceClient(address, channel),
    workspaces: new WorkspaceServiceClient(address, channel),
    close() {
      this.games.close();
      this.workspaces.close();
    },
  };
  const edge = await startEdge(core.port, environment);
  try {
    const workspace = await createWorkspace(clients);
    return (await poll(`http://127.0.0.1:${edge.port}`, workspace)).status;
  } finally {
    clients.close();
    await edge.stop();
  }
}

describe("core with TLS", () => {
  let core: TestProcess;
  beforeAll(async () => {
    core = await startCore(redis.url, { CORE_TLS_CERT: server.certPath, CORE_TLS_KEY: server.keyPath });
  });
  afterAll(() => core.stop());

  test("serves callers that trust its certificate authority", async () => {
    expect(await tryCall(core, credentials.createSsl(ca.cert))).toBe(status.OK);
  });

  test("asks for a token nevertheless", async () => {
    const workspaces = new WorkspaceServiceClient(`127.0.0.1:${core.port}`, credentials.createSsl(ca.cert));
    const code = await new Promise((resolve) => {
      workspaces.listWorkspaces(ListWorkspacesRequest.create({}), (error) => resolve(error?.code));
    });
    workspaces.close();
    expect(code).toBe(status.UNAUTHENTICATED);
  });

  test.each<[string, () => ChannelCredentials]>([
    ["that trust another authority", () => credentials.createSsl(otherCa.cert)],
    ["without TLS", () => credentials.createInsecure()],
  ])("does not serve callers %s", async (_name, channel) => {
    expect(await tryCall(core, channel())).toBe(status.UNAVAILABLE);
  });

  test("is used by an edge that trusts its authority, and not by one that does not", async () => {
    const channel = credentials.createSsl(ca.cert);
    expect(await pollThroughEdge(core, channel, { CORE_TLS_CA: ca.certPath })).toBe(200);
    expect(await pollThroughEdge(core, channel, { CORE_TLS_CA: otherCa.certPath })).toBe(503);
    expect(await pollThroughEdge(core, channel, {})).toBe(503);
  });
});

test("an edge does not use a core whose certificate is for another name", async () => {
  const misnamed = ca.issueForWrongName();
  const core = await startCore(redis.url, {
    CORE_TLS_CERT: misnamed.certPath,
    CORE_TLS_KEY: misnamed.keyPath,
  });
  try {
    expect(await tryCall(core, credentials.createSsl(ca.cert))).toBe(status.UNAVAILABLE);
  } finally {
    await core.stop();
  }
});

describe("core with mutual TLS", () => {
  let core: TestProcess;
  beforeAll(async () => {
    core = await startCore(redis.url, {
      CORE_TLS_CERT: server.certPath,
      CORE_TLS_KEY: server.keyPath,
      CORE_TLS_CLIENT_CA: ca.certPath,
    });
  });
  afterAll(() => core.stop());

  test("serves callers with a certificate of its authority", async () => {
    expect(await tryCall(core, credentials.createSsl(ca.cert, client.key, client.cert))).toBe(status.OK);
  });

  test.each<[string, () => ChannelCredentials]>([
    ["without a certificate", () => credentials.createSsl(ca.cert)],
    [
      "with a certificate of another authority",
      () => credentials.createSsl(ca.cert, strangersClient.key, strangersClient.cert),
    ],
    [
      "with a certificate that has expired",
      () => {
        const expired = ca.issueExpired(["edge.example"]);
        return credentials.createSsl(ca.cert, expired.key, expired.cert);
      },
    ],
  ])("does not serve callers %s", async (_name, channel) => {
    expect(await tryCall(core, channel())).toBe(status.UNAVAILABLE);
  });

  test("is used by an edge that shows its certificate, and not by one that shows none", async () => {
    const channel = credentials.createSsl(ca.cert, client.key, client.cert);
    const trust = { CORE_TLS_CA: ca.certPath };
    const show = { CORE_TLS_CERT: client.certPath, CORE_TLS_KEY: client.keyPath };
    expect(await pollThroughEdge(core, channel, { ...trust, ...show })).toBe(200);
    expect(await pollThroughEdge(core, channel, trust)).toBe(503);
  });
});

describe("settings of TLS that do not fit together keep a process from starting", () => {
  test.each<["core" | "edge", string, () => Record<string, string>]>([
    ["core", "CORE_TLS_CERT and CORE_TLS_KEY go together", () => ({ CORE_TLS_CERT: server.certPath })],
    ["core", "CORE_TLS_CERT and CORE_TLS_KEY go together", () => ({ CORE_TLS_CLIENT_CA: ca.certPath })],
    ["core", "CORE_TLS_KEY names a file that cannot be read", () => ({ CORE_TLS_KEY: "/nowhere/key.pem" })],
    [
      "edge",
      "CORE_TLS_CA is missing",
      () => ({ CORE_TLS_CERT: client.certPath, CORE_TLS_KEY: client.keyPath }),
    ],
    [
      "edge",
      "CORE_TLS_CERT and CORE_TLS_KEY go together",
      () => ({ CORE_TLS_CA: ca.certPath, CORE_TLS_CERT: client.certPath }),
    ],
  ])("%s: %s", async (name, fault, environment) => {
    const started =
      name === "core"
        ? startCore(redis.url, environment())
        : startProcess("edge", { CORE_TOKEN: TOKENS.edge, EDGE_LISTEN: "127.0.0.1:0", ...environment() });
    const error: unknown = await started.catch((reason: unknown) => reason);
    expect(String(error)).toMatch(new RegExp(`ended with 78[\\s\\S]*${fault}`));
  });
});
