import { credentials, status, type ChannelCredentials, type ServiceError } from "@grpc/grpc-js";
import { readEdgeConfig } from "../../edge/config";
import { createEdge } from "../../edge/edge";
import { ListWorkspacesRequest, WorkspaceServiceClient } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { call } from "../harness/core-clients";
import { createTestCa, type Certificate, type TestCa } from "../harness/test-ca";
import { createWorkspaceApi } from "../harness/workspace-api";

const ca: TestCa = createTestCa();
const otherCa: TestCa = createTestCa();
const NAMES = ["edge.example"];
const client = ca.issue(NAMES);
const OWN = { CORE_TLS_CERT: client.certPath, CORE_TLS_KEY: client.keyPath };

let redis: TestRedis;
/** Three cores: with TLS, with mutual TLS, and with a certificate for a different name. */
let cores: Readonly<Record<"tls" | "mutual" | "misnamed", TestProcess>>;
beforeAll(async () => {
  redis = await startTestRedis();
  const start = ({ certPath, keyPath }: Certificate, more: Record<string, string> = {}) =>
    startCore(redis.url, { CORE_TLS_CERT: certPath, CORE_TLS_KEY: keyPath, ...more });
  const server = ca.issue(["127.0.0.1"]);
  const [tls, mutual, misnamed] = await Promise.all([
    start(server),
    start(server, { CORE_TLS_CLIENT_CA: ca.certPath }),
    start(ca.issueForWrongName()),
  ]);
  cores = { tls, mutual, misnamed };
});
afterAll(async () => {
  await Promise.all(Object.values(cores).map((core) => core.stop()));
  await redis.close();
  ca.close();
  otherCa.close();
});

/** `trusting` makes credentials that trust a CA; `showing` makes credentials that also present a certificate. */
const trusting = ({ cert }: TestCa) => credentials.createSsl(cert);
const showing = ({ key, cert }: Certificate) => credentials.createSsl(ca.cert, key, cert);

/** Makes one call to a core, and returns the status of the call. */
async function tryCall(core: TestProcess, channel: ChannelCredentials, token: string) {
  const workspaces = new WorkspaceServiceClient(`127.0.0.1:${core.port}`, channel);
  const answer = call(workspaces, workspaces.listWorkspaces, ListWorkspacesRequest.create({}), token);
  const code = await answer.then(
    () => OK,
    (error: ServiceError) => error.code,
  );
  workspaces.close();
  return code;
}

const { OK, UNAUTHENTICATED, UNAVAILABLE } = status;

test.each<[string, keyof typeof cores, () => ChannelCredentials, status, string?]>([
  ["serves clients that trust its CA", "tls", () => trusting(ca), OK],
  ["requires a token", "tls", () => trusting(ca), UNAUTHENTICATED, "no-token"],
  ["does not serve clients that trust another CA", "tls", () => trusting(otherCa), UNAVAILABLE],
  ["rejects clients without TLS", "tls", () => credentials.createInsecure(), UNAVAILABLE],
  ["with a certificate for another name is not trusted", "misnamed", () => trusting(ca), UNAVAILABLE],
  ["serves clients with a certificate from its CA", "mutual", () => showing(client), OK],
  ["rejects clients without a certificate", "mutual", () => trusting(ca), UNAVAILABLE],
  ["rejects a certificate from another CA", "mutual", () => showing(otherCa.issue(NAMES)), UNAVAILABLE],
  ["rejects an expired certificate", "mutual", () => showing(ca.issueExpired(NAMES)), UNAVAILABLE],
])("core %s (%s)", async (_what, core, channel, code, token = TOKENS.operator) => {
  expect(await tryCall(cores[core], channel(), token)).toBe(code);
});

test.each<[string, keyof typeof cores, Record<string, string>, number]>([
  ["trusts core's CA", "tls", { CORE_TLS_CA: ca.certPath }, 200],
  ["trusts another CA", "tls", { CORE_TLS_CA: otherCa.certPath }, 503],
  ["uses no TLS", "tls", {}, 503],
  ["connects to a core with a certificate for another name", "misnamed", { CORE_TLS_CA: ca.certPath }, 503],
  ["presents its certificate", "mutual", { CORE_TLS_CA: ca.certPath, ...OWN }, 200],
  ["presents no certificate", "mutual", { CORE_TLS_CA: ca.certPath }, 503],
])(
  "a poll is answered with the expected status by an edge that %s",
  async (_what, core, environment, status) => {
    const api = new WorkspaceServiceClient(`127.0.0.1:${cores.mutual.port}`, showing(client));
    const workspace = await createWorkspaceApi(api).make();
    api.close();
    const listening = { EDGE_LISTEN: "127.0.0.1:0", HEALTH_LISTEN: "127.0.0.1:0" };
    const to = { CORE_ADDRESS: `127.0.0.1:${cores[core].port}`, CORE_TOKEN: TOKENS.edge };
    const edge = await createEdge(readEdgeConfig({ ...listening, ...to, ...environment }));
    const answer = await poll(`http://127.0.0.1:${edge.port}`, workspace);
    await edge.close();
    expect(answer.status).toBe(status);
  },
);
