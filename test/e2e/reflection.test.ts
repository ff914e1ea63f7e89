import { execFile } from "node:child_process";
import { join } from "node:path";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";

let redis: TestRedis;
let core: TestProcess;
beforeAll(async () => {
  redis = await startTestRedis();
  core = await startCore(redis.url);
});
afterAll(async () => {
  await core.stop();
  await redis.close();
});

const BUF = join(__dirname, "../../node_modules/.bin/buf");

/** Runs buf's own gRPC client, which knows nothing but what reflection tells it. */
function curl(...args: readonly string[]): Promise<{ readonly failed: boolean; readonly output: string }> {
  const transport = ["--protocol", "grpc", "--http2-prior-knowledge", "--reflect"];
  return new Promise((resolve) => {
    execFile(BUF, ["curl", ...transport, ...args], { cwd: "/" }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: `${stdout}${stderr}` }),
    );
  });
}

const base = (): string => `http://127.0.0.1:${core.port}`;
const asGame = ["--reflect-header", `authorization: Bearer ${TOKENS.game}`];

test.each(["v1", "v1alpha"])("with a token of any role reflection %s lists the services", async (version) => {
  for (const token of Object.values(TOKENS)) {
    const header = ["--reflect-header", `authorization: Bearer ${token}`];
    const { output } = await curl(
      "--list-services",
      "--reflect-protocol",
      `grpc-${version}`,
      ...header,
      base(),
    );
    expect(output.trim().split("\n").toSorted()).toEqual([
      "chatbridge.v1.BridgeService",
      "chatbridge.v1.GameService",
      "chatbridge.v1.WorkspaceService",
    ]);
  }
});

test.each([
  ["BridgeService", ["Poll", "Receive"]],
  ["GameService", ["Follow", "PublishEvents"]],
  [
    "WorkspaceService",
    ["ConnectWorkspace", "CreateWorkspace", "DeleteWorkspace", "DisconnectWorkspace", "GetWorkspace"],
  ],
])("reflection resolves every type of %s", async (service, methods) => {
  const { output } = await curl("--list-methods", ...asGame, base());
  for (const method of methods) expect(output).toContain(`chatbridge.v1.${service}/${method}`);
});

test("a call is made by what reflection tells, down to the well-known types", async () => {
  const request = {
    events: [
      {
        workspaceId: "11111111-2222-4333-8444-555555555555",
        messageCreate: {
          channel: "c1",
          message: { kind: "MESSAGE_KIND_CARD", data: { a: [1, { b: null }] } },
        },
        lifetime: "90s",
      },
    ],
  };
  const call = ["-H", `authorization: Bearer ${TOKENS.game}`, "-d", JSON.stringify(request)];
  const url = `${base()}/chatbridge.v1.GameService/PublishEvents`;
  const { output } = await curl(...asGame, ...call, url);
  expect(JSON.parse(output)).toMatchObject({
    results: [{ refused: { reason: "PUBLISH_REFUSAL_UNKNOWN_WORKSPACE", field: "workspace_id" } }],
  });
});

test.each([
  ["without a token", []],
  ["with an unknown token", ["--reflect-header", "authorization: Bearer nobody-has-this-token"]],
])("%s reflection is refused", async (_name, headers) => {
  const { failed, output } = await curl("--list-services", ...headers, base());
  expect(failed).toBe(true);
  expect(output).not.toContain("chatbridge.v1");
});
