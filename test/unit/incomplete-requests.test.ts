import {
  credentials,
  Metadata,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  status,
} from "@grpc/grpc-js";
import type { ServiceDefinition, UntypedHandleCall } from "@grpc/grpc-js";
import { INCOMPLETE_MAX_BYTES } from "../../core/domain/bounds";
import { createAuthorization } from "../../core/rpc/authorization";
import { StatusError } from "../../core/rpc/status";

const KB = 1_024;
const asIs = (bytes: Buffer): Buffer => bytes;
const GAMES: ServiceDefinition = {
  publishEvents: {
    path: "/chatbridge.v1.GameService/PublishEvents",
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
};

type Publish = (request: Buffer, metadata: Metadata, done: (error: { code: status } | null) => void) => void;
type Authorization = Parameters<typeof createAuthorization>;

test("the rest of a request that arrives after its call was refused does not count toward the token's share", async () => {
  const caller = { role: "game", name: "limited", workspaces: new Set(["a workspace"]) };
  const tokens = { onReplaced: () => undefined, callersWith: () => [caller], isCurrent: () => true };
  let refuses = true;
  const pace = {
    async start(): Promise<void> {
      if (refuses) throw new StatusError(status.UNAVAILABLE, "too many calls wait");
    },
  };
  const authorize = createAuthorization(
    tokens as unknown as Authorization[0],
    pace as unknown as Authorization[1],
    () => undefined,
  );
  const server = new Server({ interceptors: [authorize] });
  const publishEvents = (_call: object, done: (error: null, answer: Buffer) => void): void =>
    done(null, Buffer.alloc(0));
  server.addService(GAMES, { publishEvents: publishEvents as UntypedHandleCall });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const metadata = new Metadata();
  metadata.set("authorization", "Bearer a-token");
  const client = new (makeGenericClientConstructor(GAMES, "GameService"))(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
  );
  try {
    const publish = (client["publishEvents"] as Publish).bind(client);
    const send = (): Promise<status> =>
      new Promise((resolve) =>
        publish(Buffer.alloc(60 * KB), metadata, (error) => resolve(error?.code ?? status.OK)),
      );
    const requests = (1.2 * INCOMPLETE_MAX_BYTES.limitedToken) / (60 * KB);
    for (let i = 0; i < requests; i++) expect(await send()).toBe(status.UNAVAILABLE);
    refuses = false;
    expect(await send()).toBe(status.OK);
  } finally {
    client.close();
    server.forceShutdown();
  }
});
