import {
  credentials,
  Metadata,
  type ChannelCredentials,
  type Client,
  type ServiceError,
} from "@grpc/grpc-js";
import type { ClientTls } from "./core-connection";

/** Returns the credentials of a channel to core. The channel uses TLS, or no encryption when `tls` is undefined. */
export function channelCredentials(tls?: ClientTls): ChannelCredentials {
  return tls
    ? credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
    : credentials.createInsecure();
}

/** Returns the metadata of a call to core, with `token` as its bearer token. */
export function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

/** A method of a generated gRPC client, for calls with one request and one answer. */
export type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: { deadline: number },
  done: (error: ServiceError | null, response: Response) => void,
) => unknown;

/**
 * Calls a method of `client`. Rejects with a `ServiceError` if the call fails, or if core does not answer within
 * `withinMs`.
 */
export function callUnary<Request, Response>(
  client: Client,
  method: UnaryMethod<Request, Response>,
  request: Request,
  metadata: Metadata,
  withinMs: number,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + withinMs };
    method.call(client, request, metadata, options, (error, response) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}
