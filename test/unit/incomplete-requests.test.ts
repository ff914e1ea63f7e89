import { Metadata, status, type ServiceError } from "@grpc/grpc-js";
import { INCOMPLETE_MAX_BYTES } from "../../core/domain/bounds";
import { createAuthorization } from "../../core/rpc/authorization";
import { StatusError } from "../../core/rpc/status";
import { startBareService } from "../harness/bare-service";

const KB = 1_024;
const PUBLISH = "/chatbridge.v1.GameService/PublishEvents";

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
  const service = await startBareService(PUBLISH, authorize, () => Buffer.alloc(0));
  const metadata = new Metadata();
  metadata.set("authorization", "Bearer a-token");
  const publish = (): Promise<status> =>
    service.ask(Buffer.alloc(60 * KB), metadata).then(
      () => status.OK,
      ({ code }: ServiceError) => code,
    );
  try {
    const requests = (1.2 * INCOMPLETE_MAX_BYTES.limitedToken) / (60 * KB);
    for (let i = 0; i < requests; i++) expect(await publish()).toBe(status.UNAVAILABLE);
    refuses = false;
    expect(await publish()).toBe(status.OK);
  } finally {
    service.close();
  }
});
