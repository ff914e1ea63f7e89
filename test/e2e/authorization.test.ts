import { credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import { BridgeServiceClient, PollRequest } from "../../proto/gen/chatbridge/v1/bridge";
import { PublishEventsRequest } from "../../proto/gen/chatbridge/v1/game";
import { ListWorkspacesRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { startConsumer, startStream } from "../harness/consumer";
import { startCore, startProcess, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, type CoreClients } from "../harness/service";

let redis: TestRedis;
let core: TestProcess;
let clients: CoreClients;
let bridge: BridgeServiceClient;

beforeAll(async () => {
  redis = await startTestRedis();
  core = await startCore(redis.url);
  clients = connectToCore(core.port);
  bridge = new BridgeServiceClient(`127.0.0.1:${core.port}`, credentials.createInsecure());
});
afterAll(async () => {
  clients.close();
  bridge.close();
  await core.stop();
  await redis.close();
});

const POLL = PollRequest.create({
  workspaceId: "x",
  sourceAddress: "127.0.0.1",
  reading: { $case: "query", value: { limit: 1 } },
});

type Service = "BridgeService" | "GameService" | "WorkspaceService";

/** Calls one method of a service and answers the status. */
function tryService(service: Service, metadata: Metadata): Promise<status> {
  const options = { deadline: Date.now() + 10_000 };
  return new Promise((resolve) => {
    const done = (error: ServiceError | null): void => resolve(error === null ? status.OK : error.code);
    switch (service) {
      case "BridgeService":
        bridge.poll(POLL, metadata, options, done);
        return;
      case "GameService":
        clients.games.publishEvents(PublishEventsRequest.create({ events: [{}] }), metadata, options, done);
        return;
      case "WorkspaceService":
        clients.workspaces.listWorkspaces(ListWorkspacesRequest.create({}), metadata, options, done);
    }
  });
}

function header(value: string | undefined): Metadata {
  const metadata = new Metadata();
  if (value !== undefined) metadata.set("authorization", value);
  return metadata;
}

const { OK, UNAUTHENTICATED, PERMISSION_DENIED } = status;

describe("each service is for the callers of one role", () => {
  test.each([
    ["BridgeService", "edge", OK],
    ["BridgeService", "game", PERMISSION_DENIED],
    ["BridgeService", "operator", PERMISSION_DENIED],
    ["GameService", "edge", PERMISSION_DENIED],
    ["GameService", "game", OK],
    ["GameService", "operator", PERMISSION_DENIED],
    ["WorkspaceService", "edge", PERMISSION_DENIED],
    ["WorkspaceService", "game", PERMISSION_DENIED],
    ["WorkspaceService", "operator", OK],
  ] as const)("%s with a token of the role %s: %i", async (service, role, code) => {
    expect(await tryService(service, header(`Bearer ${TOKENS[role]}`))).toBe(code);
  });

  describe.each(["BridgeService", "GameService", "WorkspaceService"] as const)(
    "%s refuses a caller with",
    (service) => {
      const token = {
        BridgeService: TOKENS.edge,
        GameService: TOKENS.game,
        WorkspaceService: TOKENS.operator,
      }[service];
      test.each([
        ["no token", undefined],
        ["an empty header", ""],
        ["an empty token", "Bearer "],
        ["no scheme", token],
        ["another scheme", `Basic ${token}`],
        ["an unknown token", "Bearer some-token-that-nobody-has"],
        ["a token in the wrong case", `Bearer ${token.toUpperCase()}`],
        ["the beginning of a token", `Bearer ${token.slice(0, -1)}`],
        ["more than a token", `Bearer ${token}x`],
        ["a token with something behind it", `Bearer ${token} x`],
      ])("%s", async (_name, value) => {
        expect(await tryService(service, header(value))).toBe(UNAUTHENTICATED);
      });
    },
  );

  test("Follow is judged before anything is read of it", async () => {
    const streams = [
      startStream(clients.games, "nobody's-token"),
      startStream(clients.games, TOKENS.operator),
    ];
    const ends = await Promise.all(streams.map((stream) => stream.ended()));
    expect(ends.map(({ code }) => code)).toEqual([UNAUTHENTICATED, PERMISSION_DENIED]);
  });

  test("neither a token nor what was sent for one is in the log", () => {
    const log = JSON.stringify(core.log);
    for (const secret of [...Object.values(TOKENS), "some-token-that-nobody-has"])
      expect(log).not.toContain(secret);
  });
});

describe("several tokens", () => {
  test("a role may have more than one, so that tokens can be changed without a stop", async () => {
    const old = "old-token-of-games";
    const other = await startCore(redis.url, { CORE_TOKENS: `game=${old}, game=${TOKENS.game}` });
    const others = connectToCore(other.port);
    try {
      for (const token of [old, TOKENS.game]) {
        const code = await new Promise<status>((resolve) => {
          const done = (error: ServiceError | null): void => resolve(error?.code ?? OK);
          const request = PublishEventsRequest.create({ events: [{}] });
          others.games.publishEvents(
            request,
            header(`Bearer ${token}`),
            { deadline: Date.now() + 10_000 },
            done,
          );
        });
        expect(code).toBe(OK);
      }
    } finally {
      others.close();
      await other.stop();
    }
  });
});

describe("without tokens", () => {
  test.each([
    ["all addresses", "0.0.0.0:0"],
    ["all addresses of IPv6", "[::]:0"],
  ])("core refuses to listen on %s and says why", async (_name, listen) => {
    const started = startCore(redis.url, { CORE_TOKENS: "", CORE_LISTEN: listen });
    await expect(started).rejects.toThrow(/ended with 78[\s\S]*CORE_TOKENS is missing/);
  });

  test("core starts on loopback and refuses every call", async () => {
    const bare = await startCore(redis.url, { CORE_TOKENS: "" });
    const bares = connectToCore(bare.port);
    try {
      for (const token of ["", TOKENS.game]) {
        const consumer = startStream(bares.games, token);
        expect((await consumer.ended()).code).toBe(UNAUTHENTICATED);
      }
      const consumer = startConsumer(bares.games);
      expect((await consumer.ended()).code).toBe(UNAUTHENTICATED);
    } finally {
      bares.close();
      await bare.stop();
    }
  });
});

test.each([
  ["an empty token", "game="],
  ["an empty role", `=${TOKENS.game}`],
  ["a role that there is not", `admin=${TOKENS.game}`],
  ["no pair", TOKENS.game],
  ["a short token", "game=short"],
  ["an empty token among good ones", `edge=${TOKENS.edge},game=`],
])(
  "%s is a fault of CORE_TOKENS that keeps core from starting, and the value is not repeated",
  async (_name, tokens) => {
    const fault: unknown = await startCore(redis.url, { CORE_TOKENS: tokens }).catch(
      (error: unknown) => error,
    );
    expect(String(fault)).toMatch(/ended with 78[\s\S]*CORE_TOKENS has a/);
    expect(String(fault)).not.toContain("token-for-tests");
  },
);

test.each(["edge", "demo/game"] as const)(
  "%s with a token that no metadata can carry ends as with any other bad setting, and never says the token",
  async (name) => {
    const ended = startProcess(name, { CORE_TOKEN: "s3cret-tokén", CORE_ADDRESS: `127.0.0.1:${core.port}` });
    const { message } = await ended.then(
      () => new Error("it started"),
      (error: unknown) => error as Error,
    );
    expect(message).toMatch(/ended with 78 .*CORE_TOKEN may only have .*ASCII/s);
    expect(message).not.toContain("s3cret");
  },
);
