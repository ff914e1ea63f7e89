import { credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import { BridgeServiceClient, PollRequest } from "../../proto/gen/chatbridge/v1/bridge";
import { PublishEventsRequest } from "../../proto/gen/chatbridge/v1/game";
import { ListWorkspacesRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { startStream } from "../harness/consumer";
import { outputOf } from "../harness/output";
import { startCore, TOKENS } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { connectToCore } from "../harness/core-clients";
import { sharedService } from "../harness/shared-service";
import { HANG_MS } from "../harness/wait";

const service = sharedService();

const POLL = PollRequest.create({
  sourceAddress: "127.0.0.1",
  reading: { $case: "query", value: { limit: 1 } },
});
const { OK, UNAUTHENTICATED, PERMISSION_DENIED } = status;
const SERVICES = [
  ["BridgeService", "edge"],
  ["GameService", "game"],
  ["WorkspaceService", "operator"],
] as const;

/** Returns the status of one call to a service, with or without an authorization header. */
async function tryService(name: (typeof SERVICES)[number][0], header?: string, { port } = service.core) {
  const { games, workspaces, close } = connectToCore(port);
  const bridge = new BridgeServiceClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const metadata = new Metadata();
  if (header !== undefined) metadata.set("authorization", header);
  const options = { deadline: Date.now() + HANG_MS };
  const code = await new Promise<status>((resolve) => {
    const call = [metadata, options, (error: ServiceError | null) => resolve(error?.code ?? OK)] as const;
    if (name === "BridgeService") bridge.poll(POLL, ...call);
    else if (name === "GameService")
      games.publishEvents(PublishEventsRequest.create({ events: [{}] }), ...call);
    else workspaces.listWorkspaces(ListWorkspacesRequest.create({}), ...call);
  });
  close();
  bridge.close();
  return code;
}

describe.each(SERVICES)("%s, which serves the role %s,", (name, role) => {
  test.each(Object.entries(TOKENS))(
    "accepts a token of the role %s only if the service serves that role",
    async (of, token) => {
      expect(await tryService(name, `Bearer ${token}`)).toBe(of === role ? OK : PERMISSION_DENIED);
    },
  );

  const token = TOKENS[role];
  test.each([
    ["no token", undefined],
    ["an empty token", "Bearer "],
    ["a token without a scheme", token],
    ["an unknown token", "Bearer some-token-that-nobody-has"],
    ["a token in the wrong case", `Bearer ${token.toUpperCase()}`],
    ["the beginning of a token", `Bearer ${token.slice(0, -1)}`],
    ["a token with text after it", `Bearer ${token} x`],
  ])("answers UNAUTHENTICATED to a caller with %s", async (_name, header) => {
    expect(await tryService(name, header)).toBe(UNAUTHENTICATED);
  });
});

test("`Follow` checks the caller's token before it reads a request", async () => {
  const tokens = ["nobody's-token", TOKENS.operator];
  const ends = tokens.map((token) => startStream(service.clients.games, token).ended());
  expect((await Promise.all(ends)).map(({ code }) => code)).toEqual([UNAUTHENTICATED, PERMISSION_DENIED]);
});

test("core never logs a token, whether valid or unknown", () => {
  for (const secret of [...Object.values(TOKENS), "some-token-that-nobody-has"])
    expect(outputOf(service.core)).not.toContain(secret);
});

test("a role can have several tokens; a core without tokens starts on loopback and rejects every call", async () => {
  const redis = await startTestRedis();
  const [rotating, bare] = await Promise.all([
    startCore(redis.url, { CORE_TOKENS: `game=old-token-of-games, game=${TOKENS.game}` }),
    startCore(redis.url, { CORE_TOKENS: "" }),
  ]);
  for (const token of ["old-token-of-games", TOKENS.game]) {
    expect(await tryService("GameService", `Bearer ${token}`, rotating)).toBe(OK);
  }
  for (const [name, role] of SERVICES) {
    for (const header of [undefined, "Bearer ", `Bearer ${TOKENS[role]}`]) {
      expect(await tryService(name, header, bare)).toBe(UNAUTHENTICATED);
    }
  }
  await Promise.all([rotating.stop(), bare.stop()]);
  await redis.close();
});
