import { execFile } from "node:child_process";
import { join } from "node:path";
import { TOKENS } from "../harness/processes";
import { sharedService } from "../harness/shared-service";

const service = sharedService();

const BUF = join(__dirname, "../../node_modules/.bin/buf");
const TRANSPORT = ["--protocol", "grpc", "--http2-prior-knowledge", "--reflect"];

/** Runs buf's gRPC client, which gets its schema only from reflection; returns everything that the client prints. */
function curl(path: string, token: string, ...args: readonly string[]): Promise<string> {
  const header = token === "" ? [] : ["--reflect-header", `authorization: Bearer ${token}`];
  const url = `http://127.0.0.1:${service.core.port}${path}`;
  return new Promise((resolve) => {
    execFile(BUF, ["curl", ...TRANSPORT, ...header, ...args, url], { cwd: "/" }, (error, stdout, stderr) =>
      resolve(`${error === null ? "" : "failed: "}${stdout}${stderr}`),
    );
  });
}

test("with a token of any role, both versions of gRPC reflection list the services; reflection also lists the methods of each service", async () => {
  const outputs = await Promise.all([
    curl("", TOKENS.edge, "--list-services", "--reflect-protocol", "grpc-v1"),
    curl("", TOKENS.game, "--list-services", "--reflect-protocol", "grpc-v1alpha"),
    curl("", TOKENS.operator, "--list-services", "--reflect-protocol", "grpc-v1"),
  ]);
  for (const output of outputs) {
    expect(output.trim().split("\n").toSorted()).toEqual([
      "chatbridge.v1.BridgeService",
      "chatbridge.v1.GameService",
      "chatbridge.v1.WorkspaceService",
      "grpc.health.v1.Health",
    ]);
  }
  const methods = await curl("", TOKENS.game, "--list-methods");
  for (const method of ["BridgeService/Poll", "GameService/Follow", "WorkspaceService/GetWorkspace"]) {
    expect(methods).toContain(`chatbridge.v1.${method}`);
  }
});

test("a client that knows the schema only from reflection can make a call that uses well-known types", async () => {
  const message = { kind: "MESSAGE_KIND_CARD", text: "a card", data: { a: [1, { b: null }] } };
  const workspaceId = "11111111-2222-4333-8444-555555555555";
  const request = { events: [{ workspaceId, messageCreate: { channel: "c1", message }, lifetime: "90s" }] };
  const call = ["-H", `authorization: Bearer ${TOKENS.game}`, "-d", JSON.stringify(request)];
  const output = await curl("/chatbridge.v1.GameService/PublishEvents", TOKENS.game, ...call);
  expect(JSON.parse(output)).toMatchObject({
    results: [{ refused: { reason: "PUBLISH_REFUSAL_UNKNOWN_WORKSPACE", field: "workspace_id" } }],
  });
});

test.each(["", "nobody-has-this-token"])("reflection fails with the token %j", async (token) => {
  const output = await curl("", token, "--list-services");
  expect(output).toMatch(/^failed: /);
  expect(output).not.toContain("chatbridge.v1");
});
