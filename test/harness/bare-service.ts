import {
  credentials,
  makeGenericClientConstructor,
  Metadata,
  Server,
  ServerCredentials,
} from "@grpc/grpc-js";
import type { ServerInterceptor, ServiceError, UntypedHandleCall } from "@grpc/grpc-js";
import { promisify } from "node:util";

type Unary = (
  request: Buffer,
  metadata: Metadata,
  done: (error: ServiceError | null, answer?: Buffer) => void,
) => void;

/**
 * A service with one unary method, whose messages can be any bytes. `ask` rejects with a `ServiceError` if the call
 * fails.
 */
export interface BareService {
  ask(request: Buffer, metadata?: Metadata): Promise<Buffer>;
  close(): void;
}

/**
 * Starts a gRPC server with one unary method, and a client for this method.
 *
 * @param path the path of the method, e.g. `/grpc.health.v1.Health/Check`
 */
export async function startBareService(
  path: string,
  interceptor: ServerInterceptor,
  answer: (call: object) => Buffer,
): Promise<BareService> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const codec = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  const methods = { ask: { path, requestStream: false, responseStream: false, ...codec } };
  const serve = (call: object, done: (error: null, bytes: Buffer) => void): void => done(null, answer(call));
  const server = new Server({ interceptors: [interceptor] });
  server.addService(methods, { ask: serve as UntypedHandleCall });
  const port = await promisify(server.bindAsync.bind(server))(
    "127.0.0.1:0",
    ServerCredentials.createInsecure(),
  );
  const client = new (makeGenericClientConstructor(methods, "Bare"))(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
  );
  const ask = (client["ask"] as Unary).bind(client);
  return {
    ask: (request, metadata = new Metadata()) =>
      new Promise((resolve, reject) =>
        ask(request, metadata, (error, bytes) => (bytes === undefined ? reject(error) : resolve(bytes))),
      ),
    close() {
      client.close();
      server.forceShutdown();
    },
  };
}
